// NVTX calls like a program's, with our callbacks as the tool attached to NVTX.
#include "fa_profile/nvtx_callbacks.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <thread>

namespace {

int Inject(NvtxGetExportTableFunc_t tables) {
  return fa_profile::collect::TakeNvtx(reinterpret_cast<fa_profile::collect::NvtxTables>(tables)) ? 1 : 0;
}
int InjectExtension(nvtxExtModuleInfo_t* module) { return fa_profile::collect::TakeNvtxExtension(module) ? 1 : 0; }

// NVTX looks there at its first call, where no library is injected.
const bool kInjected = [] {
  InitializeInjectionNvtx2_fnptr = Inject;
  InitializeInjectionNvtxExtension_fnptr = InjectExtension;
  return true;
}();

}  // namespace

namespace fa_profile::collect::nvtx_callbacks_test {
namespace {

nvtxEventAttributes_t Named(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  return attributes;
}

TEST(NvtxCallbacksTest, PushAndPopAreSeen) {
  ASSERT_TRUE(kInjected);
  EXPECT_EQ(CurrentNvtxRange(), 0U);
  nvtxRangePushA("outer");
  const NvtxRanges::Node outer = CurrentNvtxRange();
  EXPECT_NE(outer, 0U);
  nvtxRangePushA("inner");
  EXPECT_NE(CurrentNvtxRange(), outer);
  nvtxRangePop();
  EXPECT_EQ(CurrentNvtxRange(), outer);
  nvtxRangePop();
  EXPECT_EQ(CurrentNvtxRange(), 0U);
}

// NCCL pushes in one way and pops in the other.
TEST(NvtxCallbacksTest, ARangeThatEndsWithDataEnds) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  const nvtxEventAttributes_t attributes = Named("ncclCommInitRankConfig");
  nvtxDomainRangePushEx(domain, &attributes);
  EXPECT_NE(CurrentNvtxRange(), 0U);
  nvtxPayloadData_t data{};
  nvtxRangePopPayload(domain, &data, 1);
  EXPECT_EQ(CurrentNvtxRange(), 0U);
  nvtxRangePushPayload(domain, &data, 1);
  EXPECT_NE(CurrentNvtxRange(), 0U);
  nvtxDomainRangePop(domain);
  EXPECT_EQ(CurrentNvtxRange(), 0U);
}

TEST(NvtxCallbacksTest, ARangeThatStartsWithDataEndsOnAnyThread) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
  nvtxPayloadData_t data{};
  const nvtxRangeId_t id = nvtxRangeStartPayload(domain, &data, 1);
  EXPECT_NE(CurrentNvtxRange(), 0U);
  std::thread([&] { nvtxRangeEndPayload(domain, id, &data, 1); }).join();
  EXPECT_EQ(CurrentNvtxRange(), 0U);
}

TEST(NvtxCallbacksTest, OtherExtensionsAreLeftAlone) {
  nvtxExtModuleInfo_t module{};
  module.structSize = sizeof module;
  module.moduleId = NVTX_EXT_PAYLOAD_MODULEID + 1;
  EXPECT_FALSE(TakeNvtxExtension(&module));
  EXPECT_FALSE(TakeNvtxExtension(nullptr));
}

}  // namespace
}  // namespace fa_profile::collect::nvtx_callbacks_test
