#include "unrolled_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/program_totals.h"
#include "graph_driver.h"

namespace fa_profile::collect {
namespace {

thread_local CUresult the_error = CUDA_SUCCESS;

void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  the_error = result;
  throw Error(call, fmt::format("CUresult {}", static_cast<int>(result)), "a node of a CUDA graph was not launched");
}

[[noreturn]] void RefuseNode(const char* what) { throw Error(std::string("the graph holds ") + what); }

// Attributes of a kernel node that a launch may have, too. A value of 0 is not set.
constexpr CUlaunchAttributeID kAttributes[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                                               CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                               CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                               CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                                               CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                               CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                                               CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                                               CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
                                               CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};

bool IsSet(const CUlaunchAttribute& attribute) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return attribute.value.accessPolicyWindow.num_bytes != 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      return attribute.value.cooperative != 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return attribute.value.clusterDim.x != 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return attribute.value.clusterSchedulingPolicyPreference != CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      return attribute.value.preferredClusterDim.x != 0;
    default:
      return true;
  }
}

std::vector<CUlaunchAttribute> AttributesOf(CUgraphNode node) {
  std::vector<CUlaunchAttribute> attributes;
  for (const CUlaunchAttributeID id : kAttributes) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    // A driver may lack one.
    if (GraphDriver().kernel_attribute(node, id, &attribute.value) != CUDA_SUCCESS) continue;
    if (IsSet(attribute)) attributes.push_back(attribute);
  }
  return attributes;
}

CUDA_KERNEL_NODE_PARAMS KernelOf(CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  Check(GraphDriver().kernel_params(node, &kernel), "cuGraphKernelNodeGetParams");
  return kernel;
}

void LaunchMemset(CUgraphNode node, CUstream stream) {
  CUDA_MEMSET_NODE_PARAMS p{};
  Check(GraphDriver().memset_params(node, &p), "cuGraphMemsetNodeGetParams");
  // With a height of 1 the pitch means nothing.
  const std::size_t pitch = p.height > 1 ? p.pitch : p.width * p.elementSize;
  const auto& driver = GraphDriver();
  switch (p.elementSize) {
    case 1:
      return Check(driver.set8(p.dst, pitch, static_cast<unsigned char>(p.value), p.width, p.height, stream),
                   "cuMemsetD2D8Async");
    case 2:
      return Check(driver.set16(p.dst, pitch, static_cast<unsigned short>(p.value), p.width, p.height, stream),
                   "cuMemsetD2D16Async");
    default:
      return Check(driver.set32(p.dst, pitch, p.value, p.width, p.height, stream), "cuMemsetD2D32Async");
  }
}

void LaunchCopy(CUgraphNode node, CUstream stream) {
  CUDA_MEMCPY3D copy{};
  Check(GraphDriver().copy_params(node, &copy), "cuGraphMemcpyNodeGetParams");
  Check(GraphDriver().copy(&copy, stream), "cuMemcpy3DAsync");
}

void LaunchHostCall(CUgraphNode node, CUstream stream) {
  CUDA_HOST_NODE_PARAMS call{};
  Check(GraphDriver().host_params(node, &call), "cuGraphHostNodeGetParams");
  Check(GraphDriver().host_call(stream, call.fn, call.userData), "cuLaunchHostFunc");
}

struct Ordered {
  std::vector<CUgraphNode> nodes;
  std::vector<std::vector<std::size_t>> after;  // what each depends on
  std::vector<std::size_t> order;
};

// Places each node as early as its position among the nodes, which is that of the capture, and its dependencies allow.
Ordered Order(CUgraph graph) {
  Ordered ordered;
  const auto& driver = GraphDriver();
  std::size_t count = 0;
  Check(driver.nodes(graph, nullptr, &count), "cuGraphGetNodes");
  ordered.nodes.resize(count);
  if (count > 0) Check(driver.nodes(graph, ordered.nodes.data(), &count), "cuGraphGetNodes");
  std::size_t edges = 0;
  Check(driver.edges(graph, nullptr, nullptr, nullptr, &edges), "cuGraphGetEdges");
  std::vector<CUgraphNode> from(edges);
  std::vector<CUgraphNode> to(edges);
  std::vector<CUgraphEdgeData> data(edges);
  if (edges > 0) Check(driver.edges(graph, from.data(), to.data(), data.data(), &edges), "cuGraphGetEdges");
  std::map<CUgraphNode, std::size_t> place;
  for (std::size_t i = 0; i < count; ++i) place[ordered.nodes[i]] = i;
  ordered.after.resize(count);
  std::vector<std::vector<std::size_t>> before(count);
  std::vector<std::size_t> open(count, 0);
  for (std::size_t i = 0; i < edges; ++i) {
    ordered.after[place[to[i]]].push_back(place[from[i]]);
    before[place[from[i]]].push_back(place[to[i]]);
    ++open[place[to[i]]];
  }
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (open[i] == 0) ready.insert(i);
  }
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    ordered.order.push_back(next);
    for (const std::size_t later : before[next]) {
      if (--open[later] == 0) ready.insert(later);
    }
  }
  return ordered;
}

}  // namespace

CUresult TakeUnrollError() noexcept { return std::exchange(the_error, CUDA_SUCCESS); }

GraphCopy::GraphCopy(CUgraph graph) { Check(GraphDriver().clone(&graph_, graph), "cuGraphClone"); }

GraphCopy::~GraphCopy() { (void)GraphDriver().destroy(graph_); }

std::size_t GraphCopy::size() const {
  std::size_t count = 0;
  Check(GraphDriver().nodes(graph_, nullptr, &count), "cuGraphGetNodes");
  return count;
}

CUgraphNode GraphCopy::Find(CUgraphNode original) const {
  CUgraphNode found = nullptr;
  return GraphDriver().find(&found, original, graph_) == CUDA_SUCCESS ? found : nullptr;
}

UnrolledGraph::UnrolledGraph(const GraphCopy& copy, std::uint32_t id, const std::set<CUgraphNode>& disabled)
    : disabled_(disabled), id_(id) {
  (void)Flatten(copy.get(), {});
  // The strings no longer move from here on.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (symbols_[i].empty()) continue;
    nodes_[i].call.symbol = symbols_[i].c_str();
    nodes_[i].key = KeyOf(nodes_[i].call);
  }
  AssignBranches();
}

UnrolledGraph::~UnrolledGraph() {
  for (const Step& step : steps_) {
    if (step.done != nullptr) (void)GraphDriver().destroy_event(step.done);
  }
  if (begun_ != nullptr) (void)GraphDriver().destroy_event(begun_);
  for (const CUstream stream : streams_) {
    if (stream != nullptr) (void)GraphDriver().destroy_stream(stream);
  }
}

void UnrolledGraph::Abandon() noexcept {
  for (Step& step : steps_) step.done = nullptr;
  begun_ = nullptr;
  streams_.clear();
}

// Returns the last steps of the graph. A child graph is between two steps that do nothing.
std::vector<std::size_t> UnrolledGraph::Flatten(CUgraph graph, const std::vector<std::size_t>& after) {
  const Ordered ordered = Order(graph);
  std::vector<std::size_t> step_of(ordered.nodes.size());
  std::set<std::size_t> last;
  for (const std::size_t i : ordered.order) {
    std::vector<std::size_t> depends;
    for (const std::size_t before : ordered.after[i]) {
      depends.push_back(step_of[before]);
      last.erase(step_of[before]);
    }
    if (depends.empty()) depends = after;
    AddStep(ordered.nodes[i], std::move(depends));
    step_of[i] = steps_.size() - 1;
    last.insert(step_of[i]);
  }
  return {last.begin(), last.end()};
}

void UnrolledGraph::AddStep(CUgraphNode node, std::vector<std::size_t> after) {
  Step step{node, CU_GRAPH_NODE_TYPE_EMPTY, std::move(after)};
  Check(GraphDriver().type(node, &step.type), "cuGraphNodeGetType");
  Node launched;
  launched.call.graph = id_;
  launched.call.node = static_cast<int>(steps_.size()) + 1;
  std::string symbol;
  switch (step.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(node);
      CUlaunchAttributeValue updatable{};
      if (GraphDriver().kernel_attribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &updatable) ==
              CUDA_SUCCESS &&
          updatable.deviceUpdatableKernelNode.deviceUpdatable != 0) {
        RefuseNode("a kernel that the device may update");
      }
      const char* name = nullptr;
      Check(kernel.func != nullptr ? GraphDriver().function_name(&name, kernel.func)
                                   : GraphDriver().kernel_name(&name, kernel.kern),
            "cuFuncGetName");
      symbol = name;
      if (IsCollective(symbol)) RefuseNode("a kernel that waits for another process");
      launched.call.grid = {static_cast<int>(kernel.gridDimX), static_cast<int>(kernel.gridDimY),
                            static_cast<int>(kernel.gridDimZ)};
      launched.call.block = {static_cast<int>(kernel.blockDimX), static_cast<int>(kernel.blockDimY),
                             static_cast<int>(kernel.blockDimZ)};
      break;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      Check(GraphDriver().child(node, &child), "cuGraphChildGraphNodeGetGraph");
      const bool disabled = disabled_.contains(node);
      step.node = nullptr;
      steps_.push_back(std::move(step));
      nodes_.push_back(std::move(launched));
      symbols_.emplace_back();
      if (disabled) return;
      Step end;
      end.after = Flatten(child, {steps_.size() - 1});
      if (end.after.empty()) return;
      launched = {};
      launched.call.graph = id_;
      launched.call.node = static_cast<int>(steps_.size()) + 1;
      step = std::move(end);
      break;
    }
    default:
      RefuseNode("a node of another kind than kernels, copies, sets and calls of the host");
  }
  if (disabled_.contains(node)) {
    step.node = nullptr;
    symbol.clear();
  }
  steps_.push_back(std::move(step));
  nodes_.push_back(std::move(launched));
  symbols_.push_back(std::move(symbol));
}

void UnrolledGraph::AssignBranches() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const auto follows =
        std::ranges::find_if(step.after, [&](std::size_t before) { return ends_[steps_[before].branch] == before; });
    if (follows != step.after.end()) {
      step.branch = steps_[*follows].branch;
      ends_[step.branch] = i;
    } else {
      step.branch = ends_.size();
      ends_.push_back(i);
    }
    for (const std::size_t before : step.after) {
      if (steps_[before].branch != step.branch) steps_[before].is_waited_for = true;
    }
  }
  if (ends_.size() > kMostBranches) RefuseNode("more parallel branches than are kept apart");
  for (std::size_t branch = 1; branch < ends_.size(); ++branch) steps_[ends_[branch]].is_waited_for = true;
}

// In the launching context.
void UnrolledGraph::MakeStreams() {
  const auto& driver = GraphDriver();
  if (begun_ == nullptr) Check(driver.make_event(&begun_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  for (Step& step : steps_) {
    if (step.is_waited_for && step.done == nullptr) {
      Check(driver.make_event(&step.done, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    }
  }
  streams_.resize(ends_.size(), nullptr);
  for (std::size_t branch = 1; branch < ends_.size(); ++branch) {
    if (streams_[branch] == nullptr) {
      Check(driver.make_stream(&streams_[branch], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }
  }
}

void UnrolledGraph::Begin(const void* stream) {
  the_error = CUDA_SUCCESS;  // earlier errors concern no launch
  stream_ = static_cast<CUstream>(const_cast<void*>(stream));
  if (ends_.size() <= 1) return;
  MakeStreams();
  Check(GraphDriver().record(begun_, stream_), "cuEventRecord");
}

void UnrolledGraph::LaunchKernel(CUgraphNode node, CUstream stream) {
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(node);
  std::vector<CUlaunchAttribute> attributes = AttributesOf(node);
  CUlaunchConfig config{};
  config.gridDimX = kernel.gridDimX;
  config.gridDimY = kernel.gridDimY;
  config.gridDimZ = kernel.gridDimZ;
  config.blockDimX = kernel.blockDimX;
  config.blockDimY = kernel.blockDimY;
  config.blockDimZ = kernel.blockDimZ;
  config.sharedMemBytes = kernel.sharedMemBytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  // cuLaunchKernelEx also takes a CUkernel.
  auto* const function = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
  Check(GraphDriver().launch(&config, function, kernel.kernelParams, kernel.extra), "cuLaunchKernelEx");
}

void UnrolledGraph::Launch(std::size_t index) {
  Step& step = steps_[index];
  const CUstream stream = StreamOf(step.branch);
  if (step.after.empty() && step.branch != 0) {
    Check(GraphDriver().wait(stream, begun_, 0), "cuStreamWaitEvent");
  }
  for (const std::size_t before : step.after) {
    if (steps_[before].branch == step.branch) continue;
    Check(GraphDriver().wait(stream, steps_[before].done, 0), "cuStreamWaitEvent");
  }
  if (step.node != nullptr) {
    if (step.type == CU_GRAPH_NODE_TYPE_KERNEL) LaunchKernel(step.node, stream);
    if (step.type == CU_GRAPH_NODE_TYPE_MEMSET) LaunchMemset(step.node, stream);
    if (step.type == CU_GRAPH_NODE_TYPE_MEMCPY) LaunchCopy(step.node, stream);
    if (step.type == CU_GRAPH_NODE_TYPE_HOST) LaunchHostCall(step.node, stream);
  }
  if (step.is_waited_for) Check(GraphDriver().record(step.done, stream), "cuEventRecord");
}

void UnrolledGraph::End() {
  for (std::size_t branch = 1; branch < ends_.size(); ++branch) {
    Check(GraphDriver().wait(stream_, steps_[ends_[branch]].done, 0), "cuStreamWaitEvent");
  }
}

}  // namespace fa_profile::collect
