#include "fa_profile/library_server.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "cuda_result.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/extents.h"
#include "shared_library.h"
#include "tensor_kernel.h"
#include "tensor_library.h"

namespace fa_profile {
namespace {

using Json = nlohmann::json;

// Bytes from the judge's hexadecimal text.
cudaIpcMemHandle_t HandleOf(const std::string& hex) {
  cudaIpcMemHandle_t handle{};
  if (hex.size() != 2 * sizeof handle) throw Error("a memory handle has the wrong length");
  auto* const bytes = reinterpret_cast<unsigned char*>(&handle);
  for (std::size_t i = 0; i < sizeof handle; ++i) {
    bytes[i] = static_cast<unsigned char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

// The memory shared with the judge, at its current size.
class SharedMemory {
 public:
  SharedMemory() {
    struct stat info {};
    if (fstat(kSharedMemory, &info) != 0 || info.st_size <= 0) throw Error("there is no shared memory");
    bytes_ = static_cast<std::size_t>(info.st_size);
    void* const start = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, kSharedMemory, 0);
    if (start == MAP_FAILED) throw Error("mmap", std::strerror(errno), "");
    values_ = static_cast<double*>(start);
  }
  ~SharedMemory() { (void)munmap(values_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // A pointer to each of the arrays that begin at `offset`.
  std::vector<double*> Arrays(const std::vector<std::size_t>& counts, std::size_t offset) const {
    std::vector<double*> arrays;
    for (const std::size_t count : counts) {
      if (count > bytes_ / sizeof(double) || offset + count > bytes_ / sizeof(double)) {
        throw Error("the shared memory is too small");
      }
      arrays.push_back(values_ + offset);
      offset += count;
    }
    return arrays;
  }

 private:
  double* values_ = nullptr;
  std::size_t bytes_ = 0;
};

// Makes the device's CUDA context.
void TakeDevice(int device) {
  CheckCudaResult(cudaSetDevice(device), "cudaSetDevice");
  CheckCudaResult(cudaFree(nullptr), "cudaFree");
}

LibraryStatement StatementOf(const TensorLibrary& library) {
  const KernelDescription& description = library.description();
  return {IdentityOf(library), description.tensors, description.functions.reference != nullptr,
          description.functions.check != nullptr};
}

class Server {
 public:
  Server(const std::string& path, const std::vector<std::string>& files, const TraceKernels& trace)
      : library_(LoadTensorLibrary(path, files)), trace_(trace) {}

  Json Answer(const Json& asked) {
    const std::string task = asked.at("do");
    if (task == "describe") return Json::parse(ToMessage(StatementOf(*library_)));
    if (task == "load") return Load(asked);
    if (task == "open") return Open(asked);
    if (task == "graph") return Graph(asked.at("chain"), asked.value("overwritten", false));
    if (task == "run") return Run(asked);
    if (task == "trace") return Trace();
    if (task == "draw") return DrawTensor(asked);
    if (task == "reference") return Reference(asked);
    if (task == "check") return Check(asked);
    throw Error("unknown task " + task);
  }

 private:
  struct Set {
    std::vector<void*> tensors;
    void* workspace = nullptr;
  };

  std::vector<ShapeParameter> ParametersOf(const Json& asked) const {
    const std::vector<std::int64_t> values = asked.at("values");
    std::vector<ShapeParameter> parameters;
    for (std::size_t i = 0; i < library_->description().parameters.size(); ++i) {
      parameters.push_back({library_->description().parameters[i].name, values.at(i)});
    }
    return parameters;
  }

  Json Load(const Json& asked) {
    parameters_ = ParametersOf(asked);
    CheckCudaResult(cudaSetDevice(asked.at("device")), "cudaSetDevice");
    CheckCudaResult(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    const std::string why_not = library_->WhyNot(parameters_);
    workspace_bytes_ = why_not.empty() ? library_->WorkspaceBytes(parameters_) : 0;
    const Work work = why_not.empty() ? library_->WorkOf(parameters_) : Work{};
    return {{"why_not", why_not},
            {"workspace_bytes", workspace_bytes_},
            {"flops", work.flops.value_or(0)},
            {"bytes", work.bytes.value_or(0)}};
  }

  Json Open(const Json& asked) {
    for (const Json& handles : asked.at("sets")) {
      std::vector<void*> mapped;
      for (const std::string hex : handles) {
        void*& pointer = mapped.emplace_back(nullptr);
        if (hex.empty()) continue;
        CheckCudaResult(cudaIpcOpenMemHandle(&pointer, HandleOf(hex), cudaIpcMemLazyEnablePeerAccess),
                        "cudaIpcOpenMemHandle");
      }
      Set& set = sets_.emplace_back();
      set.workspace = mapped.back();
      mapped.pop_back();
      set.tensors = std::move(mapped);
    }
    return Json::object();
  }

  void Enqueue(Set& set) const {
    fa_profile_call call{};
    call.struct_size = sizeof call;
    std::vector<std::int64_t> values = ValuesOf(parameters_);
    call.tensor_count = static_cast<std::uint32_t>(set.tensors.size());
    call.parameters = values.data();
    call.tensors = set.tensors.data();
    call.workspace = set.workspace;
    call.workspace_bytes = workspace_bytes_;
    call.stream = stream_;
    library_->Launch(call);
  }

  // Overwrites everything that a call must write.
  void Overwrite(const Set& set) const {
    const std::vector<TensorDescription>& tensors = library_->description().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::int64_t elements = ElementsOf(ExtentsOf(tensors[i].shape, parameters_));
      if (tensors[i].is_drawn() || elements == 0) continue;
      constexpr int kEveryBit = 0xff;  // NaN in all types of floats
      CheckCudaResult(cudaMemsetAsync(set.tensors[i], kEveryBit,
                                      static_cast<std::size_t>(elements) * BytesOf(tensors[i].format), stream_),
                      "cudaMemsetAsync");
    }
  }

  cudaGraphExec_t Capture(Set& set, int chain, bool overwritten) const {
    CheckCudaResult(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    std::optional<Error> refused;
    try {
      for (int i = 0; i < chain; ++i) {
        if (overwritten && i == chain - 1) Overwrite(set);
        Enqueue(set);
      }
    } catch (const Error& error) {
      refused = error;
    }
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (refused) throw *refused;
    CheckCudaResult(ended, "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
    (void)cudaGraphDestroy(graph);
    CheckCudaResult(made, "cudaGraphInstantiate");
    CheckCudaResult(cudaGraphUpload(executable, stream_), "cudaGraphUpload");
    return executable;
  }

  Json Graph(int chain, bool overwritten) {
    std::vector<cudaGraphExec_t>& graphs = graphs_[{chain, overwritten}];
    for (Set& set : sets_) graphs.push_back(Capture(set, chain, overwritten));
    CheckCudaResult(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return Json::object();
  }

  Json Run(const Json& asked) {
    const int chain = asked.at("chain");
    const bool overwritten = asked.value("overwritten", false);
    const std::vector<std::size_t> order = asked.at("order");
    for (const std::size_t set : order) {
      if (chain == 0) {
        Enqueue(sets_.at(set));
      } else {
        CheckCudaResult(cudaGraphLaunch(graphs_.at({chain, overwritten}).at(set), stream_), "cudaGraphLaunch");
      }
    }
    CheckCudaResult(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return Json::object();
  }

  Json Trace() {
    return {{"kernels", trace_([&] {
               for (Set& set : sets_) Enqueue(set);
               CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
             })}};
  }

  Json DrawTensor(const Json& asked) const {
    const std::vector<ShapeParameter> parameters = ParametersOf(asked);
    const std::vector<double> values = library_->Draw(asked.at("tensor"), parameters, asked.at("seed"));
    const SharedMemory memory;
    std::memcpy(memory.Arrays({values.size()}, 0).front(), values.data(), values.size() * sizeof(double));
    return Json::object();
  }

  Json Reference(const Json& asked) const {
    const SharedMemory memory;
    const std::vector<double*> arrays = memory.Arrays(asked.at("counts"), 0);
    return {{"error", library_->Reference(ParametersOf(asked), arrays)}};
  }

  Json Check(const Json& asked) const {
    const SharedMemory memory;
    const std::vector<std::size_t> counts = asked.at("counts");
    std::size_t all = 0;
    for (const std::size_t count : counts) all += count;
    const std::vector<double*> expected = memory.Arrays(counts, 0);
    const std::vector<double*> results = memory.Arrays(counts, all);
    const std::vector<const double*> of_expected(expected.begin(), expected.end());
    const std::vector<const double*> of_results(results.begin(), results.end());
    return {{"wrong", library_->Check(ParametersOf(asked), of_expected, of_results)}};
  }

  std::shared_ptr<const TensorLibrary> library_;
  TraceKernels trace_;
  std::vector<ShapeParameter> parameters_;
  std::size_t workspace_bytes_ = 0;
  std::vector<Set> sets_;
  std::map<std::pair<int, bool>, std::vector<cudaGraphExec_t>> graphs_;  // by number of calls, and whether Overwrite()
                                                                         // is included
  cudaStream_t stream_ = nullptr;
};

Json ErrorJson(const Error& error) {
  return {{"error", error.message()}, {"api", error.api()}, {"code", error.code()}, {"hint", error.hint()}};
}

void Reply(const Json& answer) {
  const std::string text = answer.dump(-1, ' ', true, Json::error_handler_t::replace);
  (void)send(ChildSession::kChannel, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace

std::string ToMessage(const LibraryStatement& statement) {
  Json parameters = Json::array();
  for (const KernelParameter& parameter : statement.identity.parameters) {
    parameters.push_back({parameter.name, parameter.value, parameter.minimum, parameter.maximum});
  }
  Json tensors = Json::array();
  for (const TensorDescription& tensor : statement.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"format", static_cast<int>(tensor.format)},
                       {"role", tensor.role},
                       {"shape", tensor.shape},
                       {"draw", {tensor.draw.kind, tensor.draw.a, tensor.draw.b}},
                       {"tolerance", {tensor.tolerance.absolute, tensor.tolerance.relative}},
                       {"file", tensor.file}});
  }
  return Json{{"kernel", statement.identity.kernel},
              {"parameters", parameters},
              {"words", statement.identity.tensors},
              {"tensors", tensors},
              {"has_reference", statement.has_reference},
              {"has_check", statement.has_check},
              {"error", ""}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

LibraryStatement StatementFromMessage(const std::string& message) {
  try {
    const Json json = Json::parse(message);
    if (const std::string error = json.value("error", ""); !error.empty()) {
      throw Error(json.at("api"), json.at("code"), error, json.at("hint"));
    }
    LibraryStatement statement;
    statement.identity.kernel = json.at("kernel");
    statement.identity.tensors = json.at("words");
    for (const Json& one : json.at("parameters")) {
      statement.identity.parameters.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
    }
    for (const Json& one : json.at("tensors")) {
      TensorDescription& tensor = statement.tensors.emplace_back();
      tensor.name = one.at("name");
      const int format = one.at("format");
      if (format < static_cast<int>(NumberFormat::kFp32) || format > static_cast<int>(NumberFormat::kUint8)) {
        throw Error("unknown element type");
      }
      tensor.format = static_cast<NumberFormat>(format);
      tensor.role = one.at("role");
      tensor.shape = one.at("shape");
      tensor.draw.kind = one.at("draw").at(0);
      tensor.draw.a = one.at("draw").at(1);
      tensor.draw.b = one.at("draw").at(2);
      tensor.tolerance.absolute = one.at("tolerance").at(0);
      tensor.tolerance.relative = one.at("tolerance").at(1);
      tensor.file = one.at("file");
    }
    statement.has_reference = json.at("has_reference");
    statement.has_check = json.at("has_check");
    return statement;
  } catch (const Json::exception& error) {
    throw Error(std::string("the library's process sent a description that cannot be read: ") + error.what());
  }
}

std::string DescribeKernelLibrary(const std::string& library, const std::vector<std::string>& files) {
  try {
    return ToMessage(StatementOf(*LoadTensorLibrary(library, files)));
  } catch (const Error& error) {
    return ErrorJson(error).dump(-1, ' ', true, Json::error_handler_t::replace);
  }
}

void ServeKernelLibrary(const std::string& library, const std::vector<std::string>& files, const TraceKernels& trace) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The worker, a process of the same user, must not reach the referee's memory and descriptors.
  if (fcntl(kSharedMemory, F_GETFD) >= 0) (void)prctl(PR_SET_DUMPABLE, 0);
  std::optional<Server> server;
  std::string message(ChildSession::kLongestMessage, '\0');
  for (;;) {
    const ssize_t count = recv(ChildSession::kChannel, message.data(), message.size(), 0);
    if (count <= 0) break;
    try {
      const Json asked = Json::parse(std::string_view(message.data(), static_cast<std::size_t>(count)));
      if (!server && asked.at("do") == "device") {  // before the library is loaded
        TakeDevice(asked.at("device"));
        Reply({{"error", ""}});
        continue;
      }
      if (!server) server.emplace(library, files, trace);
      Json answer = server->Answer(asked);
      if (!answer.contains("error")) answer["error"] = "";
      Reply(answer);
    } catch (const Error& error) {
      Reply(ErrorJson(error));
    } catch (const std::exception& error) {
      Reply({{"error", error.what()}});
    }
  }
  _exit(0);  // the library's destructors do not run
}

}  // namespace fa_profile
