// Every table of a recording. views.cpp has the views.
//
// To add a column: a field in its struct (recording.h, or tables.h), and one line in its table below.
// To add a kind of record:
//   1. recording.h: a struct, a list of it in Recording, and that list in kRecordLists. Write(), Load() and copying
//      (redact) then take it.
//   2. Here: its table, which is declared in tables.h and listed in kTables. Columns say what is stored, read, checked
//      and documented. What several fields must satisfy together is a CheckContent() in rules.h.
//   3. Only for a record with rows in other tables: a WriteParts() in piece_writer.h, a LoadRecords() in part_reader.h.
// For both: tests/support/random_recording.h (what is drawn, and its line in ToText(); a test fails without);
// tests/fuzz/make_recording_corpus.cpp; for a text tests/support/recording_texts.h (no test fails without: the tests of
// hostile texts would not see it), and profiler/load/redact.cpp if it may hold names or paths; what reads it, in
// profiler/analyze/; CHANGELOG.md.
// A released version never changes, so the first change after a release makes a new schema version, say 7: raise
// kRecordingSchemaVersion, and note it in docs/recording.md, Versions. A new column is then the last of its table, as
// Since(7, Field<...>(...)); new tables and views have 7 as their last value. Further changes before the next release
// belong to that version: docs/recording.md, Versions, says whether the present one is released. Then renew
// docs/recording.schema.txt (recording_tables_test) and the fuzzer's seeds (CONTRIBUTING.md).
#include "tables.h"

#include <array>

#include "special_columns.h"

namespace fa_profile::store {
namespace {

constexpr const char* kWholeCall = "empty: the whole call";
constexpr const char* kOutside = "NULL: outside every case";

}  // namespace

// No STRICT tables: the sqlite3 of distributions in wide use is older than 3.37 and could not open the file. The reader
// checks the type of every value instead.

template <>
const Table TableOf<Session>::kTable = {
    "session",
    "how the run was asked for; one row",
    {OnlyRow(), Field<&Session::tool_version>("tool_version"),
     Field<&Session::tool_commit>("tool_commit", "of git; `-dirty` when the tool was built from changed files"),
     Field<&Session::created_at>("created_at", "UTC, ISO 8601"), Field<&Session::command_line>("command_line"),
     Field<&Session::metric_set>("metric_set", "`full`, ...; `custom` for a list of metrics"),
     Field<&Session::replay_mode>("replay_mode",
                                  "`user` (user ranges), `spread` (user ranges, each pass on another launch), `kernel` "
                                  "(kernel replay) or `none`"),
     Field<&Session::cache_policy>("cache_policy", "`warm`, or `flush`: L2 overwritten before each launch"),
     Field<&Session::warmup_launches>("warmup_launches", "not profiled, before anything is measured"),
     Field<&Session::timed_launches>("timed_launches", "per case, without the profiler"),
     Field<&Session::draws>("draws", "random inputs that each case was verified with"),
     Field<&Session::complete>("complete", "1 when the run reached its end, else 0")}};

template <>
const Table TableOf<Device>::kTable = {
    "device",
    "the GPU and the software over it; at most one row",
    {OnlyRow(),
     Field<&Device::ordinal>("ordinal"),
     Field<&Device::name>("name"),
     Field<&Device::chip>("chip", "CUPTI's name, `GH100`"),
     Field<&Device::uuid>("uuid"),
     Field<&Device::compute_capability_major>("compute_capability_major"),
     Field<&Device::compute_capability_minor>("compute_capability_minor"),
     Field<&Device::sm_count>("sm_count"),
     Field<&Device::warp_size>("warp_size"),
     Field<&Device::max_threads_per_sm>("max_threads_per_sm"),
     Field<&Device::max_blocks_per_sm>("max_blocks_per_sm"),
     Field<&Device::registers_per_sm>("registers_per_sm"),
     Field<&Device::shared_memory_per_sm_bytes>("shared_memory_per_sm_bytes"),
     Field<&Device::shared_memory_per_block_optin_bytes>("shared_memory_per_block_optin_bytes"),
     Field<&Device::reserved_shared_memory_per_block_bytes>("reserved_shared_memory_per_block_bytes"),
     Field<&Device::l2_bytes>("l2_bytes"),
     Field<&Device::memory_bytes>("memory_bytes"),
     Field<&Device::sm_clock_max_hz>("sm_clock_max_hz"),
     Field<&Device::memory_clock_max_hz>("memory_clock_max_hz"),
     Field<&Device::memory_bus_width_bits>("memory_bus_width_bits"),
     Field<&Device::driver_version>("driver_version", "empty: NVML did not give it"),
     Field<&Device::cuda_driver_version>("cuda_driver_version"),
     Field<&Device::cuda_runtime_version>("cuda_runtime_version"),
     Field<&Device::cupti_version>("cupti_version", "CUPTI_API_VERSION")}};

template <>
const Table TableOf<ClockSample>::kTable = {
    "clock_sample",
    "clocks and state of the device at one moment; NULL: NVML did not give it",
    {RowNumber(), Field<&ClockSample::when>("taken", "`before` or `after` the measurement"),
     Field<&ClockSample::sm_hz>("sm_hz"), Field<&ClockSample::memory_hz>("memory_hz"),
     Field<&ClockSample::temperature_celsius>("temperature_celsius"), Field<&ClockSample::power_watts>("power_watts"),
     Bits<&ClockSample::throttle_reasons>("throttle_reasons", "NVML's bit mask, as a signed number")}};

template <>
const Table TableOf<Case>::kTable = {
    "kernel_case",
    "one kernel at one shape; the columns of the shape are all NULL for a program without one",
    {Id<&Case::id>(), Field<&Case::kernel>("kernel"),
     Field<&Case::origin>("origin", "`ladder`, `program`, the path of a kernel library, or `FILE.py:FUNCTION`"),
     ShapePart<&AttentionShape::batch, true>("batch"), ShapePart<&AttentionShape::num_heads>("num_heads"),
     ShapePart<&AttentionShape::seqlen>("seqlen"), ShapePart<&AttentionShape::head_dim>("head_dim"),
     ShapePart<&AttentionShape::causal>("causal", "0 or 1"),
     Since(5, ShapeParameters("parameters",
                              "`m=4096,n=4096`: the shape of a kernel library's case, instead of the "
                              "five columns before; else NULL")),
     Since(5, WorkPart<&Work::flops>("flops", "of a call, as the kernel library counts them; NULL: it does not")),
     Since(5, WorkPart<&Work::bytes>("bytes", "that a call reads and writes at least; NULL: not given"))}};

template <>
const Table TableOf<Verification>::kTable = {
    "verification",
    "the comparison of a case with the float64 reference",
    {RowNumber(), Reference<&Verification::case_id, Case>("case_id"),
     Field<&Verification::draws>("draws", "random inputs"), Field<&Verification::draws_passed>("draws_passed"),
     Field<&Verification::max_abs_error>("max_abs_error", "over the finite outputs of all draws"),
     Field<&Verification::max_error_ratio>(
         "max_error_ratio", "largest |error| / tolerance, of attention 1e-3 + 1e-3 * |reference|; at most 1 passes"),
     Field<&Verification::nonfinite>("nonfinite", "outputs that are NaN or infinite"),
     Field<&Verification::unwritten>("unwritten", "outputs that the kernel did not write"),
     Field<&Verification::error>("error", "of a failed launch; no draw follows it; else empty"),
     Since(5, Field<&Verification::where>("place",
                                          "an element that is wrong, and how: `c[3,17]: 0.5, expected 1.25`; "
                                          "else empty"))}};

template <>
const Table TableOf<Timing>::kTable = {
    "timing",
    "a series of timed launches without the profiler",
    {RowNumber(), Reference<&Timing::case_id, Case>("case_id"), Field<&Timing::part>("part", kWholeCall),
     Field<&Timing::method>("method", "`graph replay` or `events`; `activity`: a sample of the launches of a program"),
     Since(3, Field<&Timing::sm_clock_hz>("sm_clock_hz", "SM clock of replays between the samples; NULL: not read"))}};

template <>
const Table TableOf<TimingSample>::kTable = {
    "timing_sample",
    "one duration of a series",
    {Key<&TimingSample::timing_id>("timing_id"), Key<&TimingSample::position>("position", "from 0, in the order taken"),
     Field<&TimingSample::duration_ns>("duration_ns")}};

template <>
const Table TableOf<Launch>::kTable = {
    "launch",
    "one kernel launch, as CUPTI's activity records give it",
    {Id<&Launch::id>(),
     OptionalReference<&Launch::case_id, Case>("case_id", kOutside),
     Field<&Launch::part>("part", "the part that launched it; empty: not known"),
     Field<&Launch::kernel_name>("kernel_name", "demangled"),
     Field<&Launch::grid, Launch, 0>("grid_x"),
     Field<&Launch::grid, Launch, 1>("grid_y"),
     Field<&Launch::grid, Launch, 2>("grid_z"),
     Field<&Launch::block, Launch, 0>("block_x"),
     Field<&Launch::block, Launch, 1>("block_y"),
     Field<&Launch::block, Launch, 2>("block_z"),
     Field<&Launch::cluster, Launch, 0>("cluster_x", "0: launched without clusters"),
     Field<&Launch::cluster, Launch, 1>("cluster_y"),
     Field<&Launch::cluster, Launch, 2>("cluster_z"),
     Field<&Launch::registers_per_thread>("registers_per_thread"),
     Field<&Launch::static_shared_memory_bytes>("static_shared_memory_bytes"),
     Field<&Launch::dynamic_shared_memory_bytes>("dynamic_shared_memory_bytes"),
     Field<&Launch::local_memory_per_thread_bytes>("local_memory_per_thread_bytes"),
     Field<&Launch::shared_memory_config_bytes>("shared_memory_config_bytes",
                                                "shared memory carve-out of the SM while it ran"),
     Field<&Launch::stream>("stream"),
     Field<&Launch::correlation>("correlation"),
     Field<&Launch::start_ns>("start_ns", "clock of the activity records"),
     Field<&Launch::end_ns>("end_ns"),
     Since(5, Field<&Launch::graph>("graph", "CUPTI's number of the CUDA graph that launched it; 0: none did"))}};

template <>
const Table TableOf<NvtxRange>::kTable = {
    "nvtx_range",
    "one NVTX push/pop range, seen while the launches were recorded",
    {RowNumber(), OptionalReference<&NvtxRange::case_id, Case>("case_id", kOutside),
     Field<&NvtxRange::domain>("domain"), Field<&NvtxRange::name>("name"),
     Field<&NvtxRange::depth>("depth", "0: outermost on its thread"), Field<&NvtxRange::thread>("thread"),
     Field<&NvtxRange::start_ns>("start_ns"), Field<&NvtxRange::end_ns>("end_ns")}};

template <>
const Table TableOf<MetricName>::kTable = {
    "metric",
    "a metric",
    {Id<&Name::id, MetricName>(),
     NameText<MetricName, true>("CUPTI's, with rollup and submetric", "TEXT NOT NULL UNIQUE")}};

template <>
const Table TableOf<CounterConfig>::kTable = {
    "counter_config",
    "one configuration asked of CUPTI",
    {Id<&CounterConfig::id>(), Field<&CounterConfig::chip>("chip"), Field<&CounterConfig::passes>("passes")}};

template <>
const Table TableOf<ConfigMetric>::kTable = {
    "counter_config_metric",
    "a metric of a configuration",
    {Key<&ConfigMetric::config_id>("config_id"),
     Key<&ConfigMetric::position>("position", "from 0, in the order given to CUPTI"),
     Field<&ConfigMetric::metric_id>("metric_id")}};

template <>
const Table TableOf<CounterImage>::kTable = {
    "counter_image",
    "a decoded CUPTI counter data image, from which the values of its ranges can be evaluated again",
    {Id<&CounterImage::id>(), Reference<&CounterImage::config_id, CounterConfig>("config_id"),
     PackedSize<CounterImage, kMaxImageBytes, Order::kPlanes>("size_bytes"),
     PackedFrame<CounterImage, Order::kPlanes>(
         "zstd", "one zstd frame with a checksum; the order of its bytes is given below")}};

template <>
const Table TableOf<Range>::kTable = {
    "range",
    "a measured range: a case, or a part of one",
    {Id<&Range::id>(), Reference<&Range::case_id, Case>("case_id"), Field<&Range::part>("part", kWholeCall),
     Field<&Range::name>("name", "as CUPTI knew it"),
     OptionalReference<&Range::image_id, CounterImage>("image_id", "NULL: the raw counter data was not kept"),
     Field<&Range::image_index>("image_index", "index of the range in its image")}};

// Metric first: a report reads some metrics of every range, which are then neighbours. No REFERENCES here: the writer
// assigns both ids itself, and a look-up for each of a million rows would only cost time.
template <>
const Table TableOf<MetricValue>::kTable = {
    "value",
    "one metric of one range; a metric that gave no value has no row",
    {Key<&MetricValue::metric_id>("metric_id"), Key<&MetricValue::range_id>("range_id"),
     Field<&MetricValue::value>("value")}};

template <>
const Table TableOf<DataLoss>::kTable = {
    "data_loss",
    "something that could not be measured: dropped samples, metrics that the chip lacks, an unknown clock",
    {RowNumber(), Field<&DataLoss::kind>("kind", "`metric_unavailable`, `range_dropped`, `nvml`, ..."),
     Field<&DataLoss::subject>("subject", "the metric, range or API"), Field<&DataLoss::reason>("reason", "in words"),
     Field<&DataLoss::count>("count")}};

// Since version 2: the code that ran, and what its instructions did.

template <>
const Table TableOf<Cubin>::kTable = {
    "cubin",
    "machine code as it was loaded onto the device",
    {Id<&Cubin::id>(), Bits<&Cubin::crc>("crc", "CUPTI's, 64 bits as a signed number"),
     PackedSize<Cubin, kMaxCubinBytes, Order::kAsGiven>("size_bytes"),
     PackedFrame<Cubin, Order::kAsGiven>("zstd", "one zstd frame")},
    2};

template <>
const Table TableOf<DeviceFunction>::kTable = {
    "device_function",
    "a function, mostly a kernel, whose instructions were sampled or counted",
    {Id<&DeviceFunction::id>(),
     Bits<&DeviceFunction::cubin_crc>("cubin_crc", "of its cubin, which need not have been kept"),
     Field<&DeviceFunction::name>("name", "as in the cubin: mangled"),
     PackedSize<DeviceFunction, kMaxCodeBytes, Order::kAsGiven>("operands_bytes"),
     PackedFrame<DeviceFunction, Order::kAsGiven>(
         "operands_zstd", "one zstd frame: for each instruction by offset its predicate, a NUL, its operands, a NUL")},
    2};

template <>
const Table TableOf<Opcode>::kTable = {
    "opcode", "an opcode", {Id<&Name::id, Opcode>(), NameText<Opcode>("`HMMA.16816.F32`")}, 2};

template <>
const Table TableOf<SourceFunction>::kTable = {
    "source_function",
    "a function in the source",
    {Id<&Name::id, SourceFunction>(), NameText<SourceFunction>("demangled, with scope and template arguments")},
    2};

template <>
const Table TableOf<SourceFile>::kTable = {
    "source_file", "a source file", {Id<&Name::id, SourceFile>(), NameText<SourceFile>("its path")}, 2};

template <>
const Table TableOf<InlineStack>::kTable = {
    "inline_stack",
    "a frame: a place in the source, and the frame that it was inlined into",
    {Id<&InlineStack::id>(), Field<&InlineStack::parent_id>("parent_id", "a smaller id; NULL: outermost"),
     Field<&InlineStack::source_function_id>("source_function_id"),
     Field<&InlineStack::source_file_id>("source_file_id"), Field<&InlineStack::line>("line")},
    2};

// Predicates and operands are packed in device_function, where they take a fifth: two thirds of a kernel's operands
// differ, so that a table of them would save nothing.
template <>
const Table TableOf<InstructionRow>::kTable = {
    "instruction",
    "one machine instruction",
    {Key<&InstructionRow::function_id>("function_id"),
     Key<&InstructionRow::offset>("offset", "bytes from the start of the function"),
     Field<&InstructionRow::opcode_id>("opcode_id"),
     Field<&InstructionRow::stack_id>("stack_id", "its innermost frame; NULL: no line information")},
    2};

template <>
const Table TableOf<StallReason>::kTable = {
    "stall_reason",
    "what a warp waited for",
    {Id<&Name::id, StallReason>(),
     NameText<StallReason, true>("`<reason>_not_issued` counts those samples of `<reason>` in which the scheduler "
                                 "issued nothing: leave it out of a sum over reasons")},
    2};

template <>
const Table TableOf<PcSampling>::kTable = {
    "pc_sampling",
    "PC sampling of a case or a part of it, in a separate run",
    {Id<&PcSampling::id>(), Reference<&PcSampling::case_id, Case>("case_id"),
     Field<&PcSampling::part>("part", kWholeCall),
     Field<&PcSampling::period_cycles>("period_cycles", "each SM sub-partition samples one warp every so many cycles"),
     Field<&PcSampling::launches>("launches", "calls sampled"),
     Field<&PcSampling::total_samples>("total_samples",
                                       "as the hardware counted, with dropped samples and those of other code"),
     Field<&PcSampling::dropped_samples>("dropped_samples"),
     Field<&PcSampling::call_ns>("call_ns", "median duration of a sampled call; NULL: not known")},
    2};

// A row is a run of neighbouring instructions, `samples` a JSON list: a row for each of 388,357 numbers took 6.5 MB
// where this takes 1.4 MB.
template <>
const Table TableOf<SampleRun>::kTable = {
    "pc_sample",
    "samples of neighbouring instructions, one stall reason",
    {Key<&SampleRun::sampling_id>("sampling_id"), Key<&SampleRun::function_id>("function_id"),
     Key<&SampleRun::reason_id>("reason_id"), Key<&SampleRun::offset>("offset", "of the first instruction"),
     Field<&SampleRun::samples>("samples",
                                "a JSON list of one number per instruction, 16 bytes apart. "
                                "The writer makes lists of at most 128, a reader takes any length")},
    2};

template <>
const Table TableOf<SassCounting>::kTable = {
    "sass_counting",
    "SASS metrics of one call of a case or a part of it, from runs of patched code",
    {Id<&SassCounting::id>(), Reference<&SassCounting::case_id, Case>("case_id"),
     Field<&SassCounting::part>("part", kWholeCall)},
    2};

// A row is a run of neighbouring instructions with the same count, as in a basic block: a row for each of 592,425
// numbers took 9.8 MB where this takes 0.9 MB.
template <>
const Table TableOf<CountRun>::kTable = {
    "sass_count",
    "one SASS metric of neighbouring instructions with the same count; not counted: no row",
    {Key<&CountRun::counting_id>("counting_id"), Key<&CountRun::function_id>("function_id"),
     Key<&CountRun::metric_id>("metric_id"), Key<&CountRun::offset>("offset", "of the first instruction"),
     Field<&CountRun::instructions>("instructions", "how many, 16 bytes apart; at most 1,024"),
     Field<&CountRun::count>("count", "of each of these instructions, summed over the device")},
    2};

// Since version 3, and the last one since version 4: where a program's GPU time went. Rows in all but the first add up
// over the windows.

template <>
const Table TableOf<WatchWindow>::kTable = {
    "watch_window",
    "a stretch of a program's run that was watched through CUPTI's activity records",
    {Id<&WatchWindow::id>(), Field<&WatchWindow::start_ns>("start_ns", "clock of the activity records"),
     Field<&WatchWindow::end_ns>("end_ns"),
     Field<&WatchWindow::busy_ns>("busy_ns", "time in which at least one kernel, copy or set ran on the GPU"),
     Field<&WatchWindow::measuring_ns>("measuring_ns",
                                       "time inside it in which counters were measured and nothing was watched"),
     Field<&WatchWindow::unrecorded_ns>(
         "unrecorded_ns", "time inside it in which launches were counted, but not recorded: their time is estimated")},
    3};

template <>
const Table TableOf<KernelWork>::kTable = {
    "kernel_work",
    "launches of one launch class, which is a case of origin `program`, in one window",
    {RowNumber(), Reference<&KernelWork::window_id, WatchWindow>("window_id"),
     Reference<&KernelWork::case_id, Case>("case_id"), Field<&KernelWork::launches>("launches"),
     Field<&KernelWork::graph_launches>("graph_launches", "those of them that a CUDA graph launched"),
     Field<&KernelWork::total_ns>("total_ns", "their time on the GPU, summed"),
     Field<&KernelWork::min_ns>("min_ns", "the shortest launch"),
     Field<&KernelWork::max_ns>("max_ns", "the longest launch")},
    3};

template <>
const Table TableOf<MemoryWork>::kTable = {
    "memory_work",
    "copies or sets of one kind in one window",
    {RowNumber(), Reference<&MemoryWork::window_id, WatchWindow>("window_id"),
     Field<&MemoryWork::kind>("kind", "`copy host to device`, `set`, ..."),
     Field<&MemoryWork::operations>("operations"), Field<&MemoryWork::bytes>("bytes"),
     Field<&MemoryWork::total_ns>("total_ns", "their time on the GPU, summed")},
    3};

template <>
const Table TableOf<NvtxWork>::kTable = {
    "nvtx_work",
    "one NVTX range in one window, with the GPU work launched inside it and inside nested ranges",
    {RowNumber(), Reference<&NvtxWork::window_id, WatchWindow>("window_id"),
     Field<&NvtxWork::path>("path",
                            "names from the outermost range inwards, as in `step / attn`; a domain other than the "
                            "default comes first, as in `torch: step`"),
     Field<&NvtxWork::depth>("depth", "0: outermost"), Field<&NvtxWork::ranges>("ranges", "ranges that ended"),
     Field<&NvtxWork::host_ns>("host_ns", "time between push and pop, summed"),
     Field<&NvtxWork::launches>("launches", "kernels launched inside"),
     Field<&NvtxWork::gpu_ns>("gpu_ns", "their time on the GPU, summed")},
    3};

template <>
const Table TableOf<NvtxKernelWork>::kTable = {
    "nvtx_kernel",
    "launches of one launch class in one window, inside an NVTX range and in none nested in it; what takes less than a "
    "thousandth of the time in all ranges is left out",
    {RowNumber(), Reference<&NvtxKernelWork::window_id, WatchWindow>("window_id"),
     Reference<&NvtxKernelWork::case_id, Case>("case_id"), Field<&NvtxKernelWork::path>("path", "as in `nvtx_work`"),
     Field<&NvtxKernelWork::launches>("launches"),
     Field<&NvtxKernelWork::gpu_ns>("gpu_ns", "their time on the GPU, summed")},
    4};

template <>
const Table TableOf<PmSample>::kTable = {
    "pm_sample",
    "what a metric read over a short time inside a call, by CUPTI's PM sampling",
    {RowNumber(), Reference<&PmSample::case_id, Case>("case_id"),
     Field<&PmSample::metric>("metric", "`tensor`, `issue`, `dram_read`, ..."),
     Field<&PmSample::start_ns>("start_ns", "from the first activity in the launch"),
     Field<&PmSample::duration_ns>("duration_ns"),
     Field<&PmSample::value>("value", "in percent of what the unit can do in the time")},
    5};

template <>
const Table TableOf<SourceHash>::kTable = {
    "source_hash",
    "what a source file held when its code was recorded",
    {RowNumber(), Field<&SourceHash::file>("file", "as `source_file` names it"),
     Field<&SourceHash::sha256>("sha256", "of its content, 64 hexadecimal digits")},
    6};

template <>
const Table TableOf<Judgement>::kTable = {
    "judgement",
    "what the judge found of a case of a kernel library ([honest.md](honest.md))",
    {RowNumber(),
     Reference<&Judgement::case_id, Case>("case_id"),
     VerdictName("verdict", "`certified`, `wrong`, `refused`, `cannot say`"),
     Field<&Judgement::reason>("reason", "one sentence; empty: certified"),
     Field<&Judgement::calls>("calls", "compared with the reference, every element"),
     Field<&Judgement::wrong_calls>("wrong_calls", "of them"),
     Field<&Judgement::same_bits>("same_bits", "1: equal inputs gave equal bits; NULL: not tried"),
     Field<&Judgement::weak_tolerance>("weak_tolerance",
                                       "what the tolerances also accept, as in `y: zeros`; else empty"),
     Field<&Judgement::calls_a_burst>("calls_a_burst"),
     Field<&Judgement::calls_a_graph>("calls_a_graph", "in the bursts; 0: the launches were not captured"),
     Field<&Judgement::sets>("sets", "of tensors, which take turns"),
     Verified<&DeviceCounts::instructions>("instructions",
                                           "of a verified call alone: warp instructions of the whole device"),
     Timed<&DeviceCounts::instructions>("timed_instructions", "of a call in the bursts"),
     Verified<&DeviceCounts::tensor_cycles>("tensor_cycles", "likewise: of tensor pipes, summed over SMs"),
     Timed<&DeviceCounts::tensor_cycles>("timed_tensor_cycles"),
     Verified<&DeviceCounts::sm_cycles>("sm_cycles", "likewise: in which an SM held a warp, summed over SMs"),
     Timed<&DeviceCounts::sm_cycles>("timed_sm_cycles"),
     Since(8, Verified<&DeviceCounts::fp64_cycles>("fp64_cycles", "likewise: of pipes for double precision")),
     Since(8, Timed<&DeviceCounts::fp64_cycles>("timed_fp64_cycles")),
     Since(8, Verified<&DeviceCounts::l2_sectors>("l2_sectors", "likewise: of 32 bytes, between SMs and L2")),
     Since(8, Timed<&DeviceCounts::l2_sectors>("timed_l2_sectors")),
     Since(8, Verified<&DeviceCounts::dram_sectors>("dram_sectors", "likewise: of 32 bytes, read from DRAM")),
     Since(8, Timed<&DeviceCounts::dram_sectors>("timed_dram_sectors")),
     Since(8, Field<&Judgement::largest_difference>("largest_difference", "between results for equal inputs")),
     Since(8, Field<&Judgement::conditions>("conditions", "element types, pipes that worked, and what L2 held"))},
    7};

template <>
const Table TableOf<JudgedBurst>::kTable = {
    "judged_burst",
    "a burst of calls that the judge timed",
    {Key<&JudgedBurst::judgement_id>("judgement_id"),
     Key<&JudgedBurst::position>("position", "from 0, in the order run"),
     Field<&JudgedBurst::duration_ns>("duration_ns", "of a call: busy time of the device over the calls")},
    7};

namespace {

constexpr std::array kTables = {
    &TableOf<Session>::kTable,      &TableOf<Device>::kTable,         &TableOf<ClockSample>::kTable,
    &TableOf<Case>::kTable,         &TableOf<Verification>::kTable,   &TableOf<Timing>::kTable,
    &TableOf<TimingSample>::kTable, &TableOf<Launch>::kTable,         &TableOf<NvtxRange>::kTable,
    &TableOf<MetricName>::kTable,   &TableOf<CounterConfig>::kTable,  &TableOf<ConfigMetric>::kTable,
    &TableOf<CounterImage>::kTable, &TableOf<Range>::kTable,          &TableOf<MetricValue>::kTable,
    &TableOf<DataLoss>::kTable,     &TableOf<Cubin>::kTable,          &TableOf<DeviceFunction>::kTable,
    &TableOf<Opcode>::kTable,       &TableOf<SourceFunction>::kTable, &TableOf<SourceFile>::kTable,
    &TableOf<InlineStack>::kTable,  &TableOf<InstructionRow>::kTable, &TableOf<StallReason>::kTable,
    &TableOf<PcSampling>::kTable,   &TableOf<SampleRun>::kTable,      &TableOf<SassCounting>::kTable,
    &TableOf<CountRun>::kTable,     &TableOf<WatchWindow>::kTable,    &TableOf<KernelWork>::kTable,
    &TableOf<MemoryWork>::kTable,   &TableOf<NvtxWork>::kTable,       &TableOf<NvtxKernelWork>::kTable,
    &TableOf<PmSample>::kTable,     &TableOf<SourceHash>::kTable,     &TableOf<Judgement>::kTable,
    &TableOf<JudgedBurst>::kTable,
};

}  // namespace

std::span<const Table* const> Tables() { return kTables; }

std::vector<SchemaObject> Schema(int version) {
  std::vector<SchemaObject> objects;
  for (int since = 1; since <= version; ++since) {
    for (const Table* table : kTables) {
      if (table->since == since) objects.push_back({"table", table->name, CreateTable(*table, version)});
    }
    for (const View& view : Views()) {
      if (view.since == since && version <= view.until) objects.push_back({"view", view.name, view.sql});
    }
  }
  return objects;
}

}  // namespace fa_profile::store
