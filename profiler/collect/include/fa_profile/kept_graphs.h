#pragma once

#include <cstdint>
#include <memory>

#include "fa_profile/graph_nodes.h"

namespace fa_profile::collect {

/// The nodes of a graph of the process that launch_hook.h keeps, as CUPTI's id names its executable. nullptr: it can
/// only be launched as a whole. That is so for graphs with other nodes than kernels, copies, sets, calls of the host,
/// child graphs and empty ones; with kernels that the device updates, or that wait for another process; with over 32
/// branches; and for those that were made before ObserveProgram(), or changed in a way that is not followed. Any
/// thread.
std::shared_ptr<GraphNodes> NodesOfGraph(std::uint32_t graph) noexcept;
bool HasNodesOfGraph(std::uint32_t graph) noexcept;
/// Before the context in which graphs are launched is destroyed. None may be under way.
void ForgetGraphs() noexcept;

}  // namespace fa_profile::collect
