#pragma once

#include <cuda.h>

namespace fa_profile::collect {

/// The driver's graph functions, found without linking its library. Null where the driver lacks one.
struct GraphFunctions {
  decltype(&cuGraphClone) clone;
  decltype(&cuGraphDestroy) destroy;
  decltype(&cuGraphNodeFindInClone) find;
  decltype(&cuGraphGetNodes) nodes;
  decltype(&cuGraphGetEdges) edges;
  decltype(&cuGraphNodeGetType) type;
  decltype(&cuGraphChildGraphNodeGetGraph) child;
  decltype(&cuGraphKernelNodeGetParams) kernel_params;
  decltype(&cuGraphKernelNodeSetParams) set_kernel_params;
  decltype(&cuGraphKernelNodeGetAttribute) kernel_attribute;
  decltype(&cuGraphMemsetNodeGetParams) memset_params;
  decltype(&cuGraphMemsetNodeSetParams) set_memset_params;
  decltype(&cuGraphMemcpyNodeGetParams) copy_params;
  decltype(&cuGraphMemcpyNodeSetParams) set_copy_params;
  decltype(&cuGraphHostNodeGetParams) host_params;
  decltype(&cuFuncGetName) function_name;
  decltype(&cuKernelGetName) kernel_name;
  decltype(&cuLaunchKernelEx) launch;
  decltype(&cuMemsetD2D8Async) set8;
  decltype(&cuMemsetD2D16Async) set16;
  decltype(&cuMemsetD2D32Async) set32;
  decltype(&cuMemcpy3DAsync) copy;
  decltype(&cuLaunchHostFunc) host_call;
  decltype(&cuStreamCreate) make_stream;
  decltype(&cuStreamDestroy) destroy_stream;
  decltype(&cuStreamWaitEvent) wait;
  decltype(&cuEventCreate) make_event;
  decltype(&cuEventDestroy) destroy_event;
  decltype(&cuEventRecord) record;
  decltype(&cuGraphCreate) create;
  decltype(&cuGraphInstantiate) instantiate;
  bool complete = false;  ///< none is null
};
const GraphFunctions& GraphDriver() noexcept;

}  // namespace fa_profile::collect
