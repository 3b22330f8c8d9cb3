#pragma once

/// The CUPTI functions called by anything that links fa_collect. A missing row is an undefined reference.
// clang-format off
#define FA_PROFILE_CUPTI_FUNCTIONS(F) \
  F(cuptiActivityDisable) F(cuptiActivityEnable) F(cuptiActivityFlushAll) F(cuptiActivityGetNextRecord) \
  F(cuptiActivityGetNumDroppedRecords) F(cuptiActivityPopExternalCorrelationId) \
  F(cuptiActivityPushExternalCorrelationId) F(cuptiActivityRegisterCallbacks) \
  F(cuptiActivityRegisterTimestampCallback) F(cuptiDeviceGetChipName) F(cuptiEnableCallback) F(cuptiEnableDomain) \
  F(cuptiGetCallbackName) F(cuptiGetCubinCrc) F(cuptiGetDeviceId) F(cuptiGetGraphExecId) F(cuptiGetGraphNodeId) \
  F(cuptiGetResultString) F(cuptiGetTimestamp) F(cuptiGetVersion) F(cuptiPCSamplingDisable) F(cuptiPCSamplingEnable) \
  F(cuptiPCSamplingGetData) F(cuptiPCSamplingGetNumStallReasons) F(cuptiPCSamplingGetStallReasons) \
  F(cuptiPCSamplingSetConfigurationAttribute) F(cuptiPCSamplingStart) F(cuptiPCSamplingStop) \
  F(cuptiPmSamplingCounterDataGetSampleInfo) F(cuptiPmSamplingCounterDataImageInitialize) \
  F(cuptiPmSamplingDecodeData) F(cuptiPmSamplingDisable) F(cuptiPmSamplingEnable) \
  F(cuptiPmSamplingGetCounterAvailability) F(cuptiPmSamplingGetCounterDataInfo) \
  F(cuptiPmSamplingGetCounterDataSize) F(cuptiPmSamplingSetConfig) F(cuptiPmSamplingStart) F(cuptiPmSamplingStop) \
  F(cuptiProfilerBeginSession) F(cuptiProfilerDeInitialize) \
  F(cuptiProfilerGetCounterAvailability) F(cuptiProfilerHostConfigAddMetrics) F(cuptiProfilerHostDeinitialize) \
  F(cuptiProfilerHostEvaluateToGpuValues) F(cuptiProfilerHostGetBaseMetrics) F(cuptiProfilerHostGetConfigImage) \
  F(cuptiProfilerHostGetConfigImageSize) F(cuptiProfilerHostGetMetricProperties) \
  F(cuptiProfilerHostGetNumOfPasses) F(cuptiProfilerHostGetSubMetrics) F(cuptiProfilerHostGetSupportedChips) \
  F(cuptiProfilerHostInitialize) F(cuptiProfilerInitialize) F(cuptiRangeProfilerCounterDataGetRangeInfo) \
  F(cuptiRangeProfilerCounterDataImageInitialize) F(cuptiRangeProfilerDecodeData) F(cuptiRangeProfilerDisable) \
  F(cuptiRangeProfilerEnable) F(cuptiRangeProfilerGetCounterDataInfo) F(cuptiRangeProfilerGetCounterDataSize) \
  F(cuptiRangeProfilerPopRange) F(cuptiRangeProfilerPushRange) F(cuptiRangeProfilerSetConfig) \
  F(cuptiRangeProfilerStart) F(cuptiRangeProfilerStop) F(cuptiSassMetricsDisable) F(cuptiSassMetricsEnable) \
  F(cuptiSassMetricsFlushData) F(cuptiSassMetricsGetDataProperties) F(cuptiSassMetricsGetMetrics) \
  F(cuptiSassMetricsGetNumOfMetrics) F(cuptiSassMetricsGetProperties) F(cuptiSassMetricsSetConfig) \
  F(cuptiSassMetricsUnsetConfig) F(cuptiSubscribe) F(cuptiSubscribe_v2) F(cuptiUnsubscribe)
// clang-format on
