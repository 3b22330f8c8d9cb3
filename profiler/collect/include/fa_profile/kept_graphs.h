#pragma once

#include <cstdint>
#include <memory>

#include "fa_profile/graph_nodes.h"

namespace fa_profile::collect {

/// The nodes of a graph kept by launch_hook.h, by CUPTI's id of its executable. nullptr: it can only be launched as a
/// whole. That is so for graphs with nodes other than kernels, copies, sets, host calls, child graphs and empty ones;
/// with kernels that the device updates, or that wait for another process; with over 32 branches; and for those made
/// before ObserveProgram(), or changed in a way that is not tracked. Any thread.
std::shared_ptr<GraphNodes> NodesOfGraph(std::uint32_t graph) noexcept;
bool HasNodesOfGraph(std::uint32_t graph) noexcept;
/// Before the context in which graphs are launched is destroyed. No launch of one may be under way.
void ForgetGraphs() noexcept;

}  // namespace fa_profile::collect
