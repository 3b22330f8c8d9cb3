// A tool that NVTX loads into a program (NVTX_INJECTION64_PATH): appends a line for each push and pop to the file that
// NVTX_LISTENER_LOG names.
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

void Log(const std::string& line) {
  const char* const path = std::getenv("NVTX_LISTENER_LOG");
  if (path != nullptr) std::ofstream(path, std::ios::app) << line << '\n';
}

int OnPush(const char* name) {
  Log(std::string("push ") + name);
  return 0;
}

int OnPop() {
  Log("pop");
  return 0;
}

nvtxDomainHandle_t OnCreate(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));  // for ever, as a domain is
}

std::string NameOf(nvtxDomainHandle_t domain) { return *reinterpret_cast<std::string*>(domain); }

int OnDomainPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  Log("push " + NameOf(domain) + ": " + attributes->message.ascii);
  return 0;
}

int OnDomainPop(nvtxDomainHandle_t domain) {
  Log("pop " + NameOf(domain));
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(OnPush);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(OnPop);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(OnCreate);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(OnDomainPush);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(OnDomainPop);
  return 1;
}
