#include "graph_driver.h"

#include <type_traits>

#include "cuda_api.h"

namespace fa_profile::collect {
namespace {

GraphFunctions Load() noexcept {
  GraphFunctions driver{};
  driver.complete = true;
  const auto load = [&](auto& function, const char* name) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(DriverEntry(name, CUDA_VERSION));
    driver.complete = driver.complete && function != nullptr;
  };
  load(driver.clone, "cuGraphClone");
  load(driver.destroy, "cuGraphDestroy");
  load(driver.find, "cuGraphNodeFindInClone");
  load(driver.nodes, "cuGraphGetNodes");
  load(driver.edges, "cuGraphGetEdges");
  load(driver.type, "cuGraphNodeGetType");
  load(driver.child, "cuGraphChildGraphNodeGetGraph");
  load(driver.kernel_params, "cuGraphKernelNodeGetParams");
  load(driver.set_kernel_params, "cuGraphKernelNodeSetParams");
  load(driver.kernel_attribute, "cuGraphKernelNodeGetAttribute");
  load(driver.memset_params, "cuGraphMemsetNodeGetParams");
  load(driver.set_memset_params, "cuGraphMemsetNodeSetParams");
  load(driver.copy_params, "cuGraphMemcpyNodeGetParams");
  load(driver.set_copy_params, "cuGraphMemcpyNodeSetParams");
  load(driver.host_params, "cuGraphHostNodeGetParams");
  load(driver.function_name, "cuFuncGetName");
  load(driver.kernel_name, "cuKernelGetName");
  load(driver.launch, "cuLaunchKernelEx");
  load(driver.set8, "cuMemsetD2D8Async");
  load(driver.set16, "cuMemsetD2D16Async");
  load(driver.set32, "cuMemsetD2D32Async");
  load(driver.copy, "cuMemcpy3DAsync");
  load(driver.host_call, "cuLaunchHostFunc");
  load(driver.make_stream, "cuStreamCreate");
  load(driver.destroy_stream, "cuStreamDestroy");
  load(driver.wait, "cuStreamWaitEvent");
  load(driver.make_event, "cuEventCreate");
  load(driver.destroy_event, "cuEventDestroy");
  load(driver.record, "cuEventRecord");
  load(driver.create, "cuGraphCreate");
  load(driver.instantiate, "cuGraphInstantiate");
  return driver;
}

}  // namespace

const GraphFunctions& GraphDriver() noexcept {
  static const GraphFunctions driver = Load();
  return driver;
}

}  // namespace fa_profile::collect
