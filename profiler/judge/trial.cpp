#include "trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <thread>

#include "fa_profile/error.h"
#include "fa_profile/extents.h"
#include "fa_profile/mixed_bits.h"
#include "fa_profile/text.h"
#include "weak_tolerance.h"

namespace fa_profile::judge {
namespace {

constexpr std::size_t kSets = 3;          // take turns
constexpr std::size_t kInPlaceSets = 16;  // for a kernel that changes its inputs: each is used once per burst
constexpr int kBurstsARound = 3;
constexpr double kSoakSeconds = 1.0;
constexpr int kOnlyDevice = 0;  // visible to the other processes

std::vector<const DeviceMemory*> Pointers(const std::vector<DeviceMemory>& copies) {
  std::vector<const DeviceMemory*> pointers;
  for (const DeviceMemory& copy : copies) pointers.push_back(&copy);
  return pointers;
}

nlohmann::json ValuesJson(const std::vector<ShapeParameter>& parameters) {
  nlohmann::json values = nlohmann::json::array();
  for (const ShapeParameter& parameter : parameters) values.push_back(parameter.value);
  return values;
}

}  // namespace

Trial::Trial(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress)
    : question_(question),
      gpu_(gpu),
      progress_(progress),
      random_(question.seed),
      values_(ValuesJson(question.parameters)) {}

Answer Trial::Run() {
  StartProcesses();
  const bool loaded = Load();
  try {
    if (loaded) Calls();
    if (answer_.why_not.empty()) Conclude();
  } catch (const CannotJudge& error) {
    answer_.verification = {};
    answer_.judgement.reason = error.message();
  } catch (const ProcessFailed& error) {
    Fail(error);
    Conclude();
  }
  answer_.printed = worker_->Printed();
  return answer_;
}

void Trial::Fail(const ProcessFailed& error) {
  answer_.verification.error = error.Headline();
  answer_.verification.draws = std::max(answer_.verification.draws, 1);
}

// No kernel code runs before the GPU was seen idle.
void Trial::StartProcesses() {
  // A library's worker makes its CUDA context while the witness opens: both are slow.
  const LibraryProcess::Clock::time_point deadline =
      LibraryProcess::Clock::now() +
      std::chrono::milliseconds(std::llround(1e3 * (5 + question_.draws) * question_.seconds));
  std::future<void> context;
  if (!question_.in_python) {
    worker_.emplace(question_, /*with_gpu=*/true, -1, deadline);
    context = std::async(std::launch::async, [this] {
      (void)worker_->Require({{"do", "device"}, {"device", kOnlyDevice}});
    });
  }
  if (question_.timing) OpenWitness();
  if (context.valid()) context.get();
  if (witness_) {
    const Watched before = witness_->Watch([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    alone_on_gpu_ = before.counts.instructions == 0;
  }
  referee_.emplace(question_, /*with_gpu=*/false, shared_.descriptor(), deadline);
  if (!worker_) worker_.emplace(question_, /*with_gpu=*/true, -1, deadline);
}

// Finds what the kernel takes and returns. False: it refuses the parameters, or its first call fails.
bool Trial::Load() {
  std::future<nlohmann::json> description = std::async(std::launch::async, [this] {
    return referee_->Require({{"do", "describe"}, {"device", kOnlyDevice}});
  });
  nlohmann::json loaded;
  try {
    loaded = worker_->Require({{"do", "load"}, {"values", values_}, {"device", kOnlyDevice}});
  } catch (const ProcessFailed& error) {
    if (!question_.in_python) throw;  // the library cannot be loaded
    Fail(error);
    return false;
  }
  const nlohmann::json described = description.get();
  statement_ = StatementFromMessage(described.dump());
  answer_.why_not = Printable(loaded.value("why_not", std::string()));
  if (!answer_.why_not.empty()) return false;
  const double flops = loaded.value("flops", 0.0);
  const double bytes = loaded.value("bytes", 0.0);
  if (std::isfinite(flops) && flops > 0) evidence_.work.flops = flops;
  if (std::isfinite(bytes) && bytes > 0) evidence_.work.bytes = bytes;
  answer_.work = evidence_.work;
  if (question_.in_python) AddOutputs(loaded, {described.at("tolerance").at(0), described.at("tolerance").at(1)});
  MakeSets(loaded.value("workspace_bytes", std::size_t{0}));
  mostly_fp32_ = question_.in_python ? described.value("mostly_fp32", false) : DrawsMostlyFp32();
  return true;
}

// One small tensor of another type does not make a mixed-precision kernel.
bool Trial::DrawsMostlyFp32() const {
  constexpr double kMost = 2.0 / 3.0;
  double fp32 = 0.0;
  double all = 0.0;
  for (const Tensor& tensor : sets_->tensors()) {
    const NumberFormat format = tensor.description.format;
    if (!tensor.description.is_drawn() || IsInteger(format)) continue;
    all += static_cast<double>(tensor.elements);
    if (format == NumberFormat::kFp32) fp32 += static_cast<double>(tensor.elements);
  }
  return all > 0 && fp32 >= kMost * all;
}

void Trial::MakeSets(std::size_t workspace_bytes) {
  const bool in_place = std::ranges::any_of(
      statement_.tensors, [](const TensorDescription& tensor) { return tensor.is_drawn() && tensor.is_compared(); });
  sets_.emplace(statement_, question_.parameters, workspace_bytes, in_place ? kInPlaceSets : kSets);
  shared_.Resize(ArrayCounts());
  tolerance_parts_.assign(sets_->tensors().size(), 1.0);
  for (std::size_t i = 0; i < sets_->tensors().size(); ++i) {
    if (sets_->tensors()[i].description.is_compared()) compared_.push_back(i);
  }
  answer_.judgement.sets = static_cast<int>(sets_->count());
}

// All calls of the trial, in rounds with fresh inputs.
void Trial::Calls() {
  calls_.emplace(question_.in_python.has_value(), gpu_, *worker_, *sets_, witness_, random_);
  sets_->Draw(random_(), values_, *referee_, shared_);
  const bool watched = witness_.has_value();
  calls_->Prepare();
  if (watched && !witness_) why_no_witness_ = "the GPU's counters could not be opened again";
  const std::size_t sets = std::min(kSets, sets_->count());
  const int rounds = std::max(2, static_cast<int>((static_cast<std::size_t>(question_.draws) + sets - 1) / sets));
  for (int round = 0; round < rounds && answer_.verification.error.empty(); ++round) {
    Round(round);
    if (progress_) progress_(round + 1, rounds);
    if (answer_.verification.draws_passed < answer_.verification.draws) break;
  }
  if (answer_.verification.correct()) Soak();
}

// Without the GPU's counters, results are still judged.
void Trial::OpenWitness() {
  try {
    witness_.emplace(gpu_, 0.0);
  } catch (const Error& error) {
    why_no_witness_ = error.Headline();
  }
}

// Adds what a Python kernel returned in its first call. An argument among them is in place.
void Trial::AddOutputs(const nlohmann::json& loaded, const Tolerance& tolerance) {
  const std::size_t inputs = statement_.tensors.size();
  outputs_ = loaded.at("outputs");
  for (nlohmann::json& output : outputs_) {
    // The referee gets the extents and the type used for comparing here, so a worker cannot claim two.
    const std::vector<std::int64_t> extents = output.at("extents");
    output["shape"] = extents.empty() ? "1" : fmt::format("{}", fmt::join(extents, ","));
    const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json message = {{"kernel", ""},          {"words", none},
                                    {"parameters", none},    {"tensors", nlohmann::json::array({output})},
                                    {"has_reference", true}, {"has_check", false}};
    TensorDescription tensor = StatementFromMessage(message.dump()).tensors.front();
    constexpr double kWhole = 0.5;  // whole numbers must be equal
    tensor.tolerance = IsInteger(tensor.format) ? Tolerance{kWhole, 0.0} : tolerance;
    output["floating"] = !IsInteger(tensor.format);
    tensor.role = FA_PROFILE_OUTPUT;
    tensor.draw = {};
    tensor.file.clear();
    const std::int64_t argument = output.at("input");
    if (argument < 0) {
      output["tensor"] = statement_.tensors.size();
      statement_.tensors.push_back(std::move(tensor));
      continue;
    }
    TensorDescription& of_argument = statement_.tensors.at(static_cast<std::size_t>(argument));
    if (static_cast<std::size_t>(argument) >= inputs || of_argument.is_compared()) {
      throw ProcessFailed("it returns an argument twice", "return it once");
    }
    output["tensor"] = argument;
    tensor.role = FA_PROFILE_IN_PLACE;
    tensor.draw = of_argument.draw;
    of_argument = std::move(tensor);
  }
}

// Every set once, in two parts: a call must not touch the tensors of others.
Trial::Parts Trial::RunAlone() {
  calls_->FetchAlone();
  const std::vector<std::size_t> order = calls_->Shuffled(1);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() + 1) / 2);
  Parts parts = {std::vector(order.begin(), middle), std::vector(middle, order.end())};
  Watched both;
  for (const std::vector<std::size_t>& part : parts) {
    if (part.empty()) continue;
    const std::vector<std::size_t>& others = &part == &parts[0] ? parts[1] : parts[0];
    std::vector<std::uint64_t> before;
    for (const std::size_t set : others) before.push_back(sets_->ResultHash(set));
    both += calls_->Alone(part);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (sets_->ResultHash(others[i]) != before[i]) Refuse("a call writes to the tensors of another call");
    }
  }
  const auto calls = static_cast<double>(order.size());
  evidence_.alone.Add(both, calls);
  evidence_.first.push_back({both.busy_ns / calls, both.elapsed_ns / calls});
  return parts;
}

// The calls of RunAlone(), on inputs that all calls since had, too.
void Trial::RunAgain(const Parts& parts) {
  sets_->RestoreInPlace();
  Watched both;
  for (const std::vector<std::size_t>& part : parts) {
    if (!part.empty()) both += calls_->Again(part);
  }
  const auto calls = static_cast<double>(sets_->count());
  evidence_.again.push_back({both.busy_ns / calls, both.elapsed_ns / calls});
}

void Trial::RunBursts() {
  for (int burst = 0; burst < kBurstsARound; ++burst) {
    if (sets_->has_in_place()) {
      if (burst > 0) sets_->RestoreInPlace();
      sets_->Poison(Poison::kRandom, random_());
    }
    const WorkerCalls::Burst run = calls_->Timed();
    evidence_.timed.Add(run.seen, run.calls);
    answer_.judgement.calls_a_burst = static_cast<std::int64_t>(run.calls);
    answer_.judgement.calls_a_graph = calls_->calls_a_graph();
    if (!witness_) continue;
    answer_.judgement.durations_ns.push_back(run.seen.busy_ns / run.calls);
    evidence_.least_idle_ns = std::min(evidence_.least_idle_ns, run.idle_ns);
  }
}

void Trial::RunApart() {
  if (!witness_ || !calls_->can_capture() || !calls_->has_chain()) return;
  sets_->Poison(Poison::kRandom, random_());
  const WorkerCalls::Burst run = calls_->Apart();
  evidence_.apart_ns = run.seen.busy_ns / run.calls;
  evidence_.apart_instructions = run.seen.counts.instructions / run.calls;
  evidence_.timed.sum.complete = evidence_.timed.sum.complete && run.seen.complete;
}

void Trial::RunOverwritten() {
  sets_->Poison(Poison::kRandom, random_());
  calls_->Overwritten();
}

// The next calls overwrite the results.
Trial::Results Trial::KeepResults() const {
  Results kept;
  for (std::size_t set = 0; set < sets_->count(); ++set) {
    std::vector<DeviceMemory>& copies = kept.emplace_back();
    for (const std::size_t i : compared_) {
      copies.emplace_back(sets_->result(set, i).bytes()).CopyFrom(sets_->result(set, i));
    }
  }
  return kept;
}

// The current results differ from those of the call alone, bit by bit.
void Trial::NoteDifference(std::size_t set) {
  answer_.judgement.same_bits = false;
  for (std::size_t k = 0; k < compared_.size(); ++k) {
    const Tensor& tensor = sets_->tensors()[compared_[k]];
    const DeviceMemory before(tensor.elements * sizeof(double));
    DecodeOnDevice(alone_[set][k], tensor.description.format, before);
    const DeviceErrors found = CompareOnDevice(sets_->result(set, compared_[k]), tensor.description.format, before, {});
    answer_.judgement.largest_difference = std::max(answer_.judgement.largest_difference, found.max_abs_error);
  }
}

std::vector<const DeviceMemory*> Trial::Present(std::size_t set) const {
  std::vector<const DeviceMemory*> present;
  for (const std::size_t i : compared_) present.push_back(&sets_->result(set, i));
  return present;
}

void Trial::Round(int round) {
  sets_->Draw(random_(), values_, *referee_, shared_);
  const std::size_t sets = sets_->count();
  for (std::size_t set = 0; set < sets; ++set) drawn_.push_back(sets_->DrawnHash(set));
  // Every third round keeps the last results: only the new inputs distinguish them from correct ones.
  if (round % 3 != 2) sets_->Poison(round % 3 == 0 ? Poison::kMarked : Poison::kRandom, random_());
  const Parts parts = RunAlone();
  alone_ = KeepResults();
  result_hashes_.clear();
  for (std::size_t set = 0; set < sets; ++set) result_hashes_.push_back(sets_->ResultHash(set));
  Results apart;
  Results overwritten;
  if (round == 0) {
    RunApart();
    apart = KeepResults();
    RunOverwritten();
    overwritten = KeepResults();
  }
  sets_->RestoreInPlace();
  sets_->Poison(round % 2 == 0 ? Poison::kRandom : Poison::kMarked, random_());
  RunBursts();
  for (std::size_t set = 0; set < sets; ++set) {
    if (sets_->ResultHash(set) != result_hashes_[set]) NoteDifference(set);
    answer_.judgement.same_bits = answer_.judgement.same_bits.value_or(true);
    if (!sets_->InputsAreUnchanged(set) && answer_.verification.where.empty()) {
      answer_.verification.where = "the kernel changed one of its inputs";
    }
  }
  expected_.clear();
  for (std::size_t set = 0; set < sets; ++set) {
    if (set >= kSets && round > 0) break;  // for in-place kernels, which have more sets, as many as for others
    Expect(set);
    if (!answer_.verification.error.empty()) return;
    if (round == 0 && set == 0) {
      FindWeak();
      FindCoarse(set, alone_[set]);
    }
    ++answer_.verification.draws;
    answer_.judgement.calls += 2;
    bool right = Matches(set, Pointers(alone_[set]), "");
    if (round == 0) {
      right = right && Matches(set, Pointers(apart[set]), " in a separate graph") &&
              Matches(set, Pointers(overwritten[set]), " in the last call of a chain");
    }
    right = right && Matches(set, Present(set), " in the timed calls");
    if (right && answer_.verification.where.empty()) ++answer_.verification.draws_passed;
  }
  RunAgain(parts);
}

// Computes what a call on this set must return, into shared_ and onto the device.
void Trial::Expect(std::size_t set) {
  for (std::size_t i = 0; i < sets_->tensors().size(); ++i) {
    const TensorDescription& tensor = sets_->tensors()[i].description;
    const std::span<double> values = shared_[i];
    if (tensor.is_drawn() && !question_.in_python) {
      const DeviceMemory decoded(values.size_bytes());
      DecodeOnDevice(sets_->Drawn(set, i), tensor.format, decoded);
      decoded.Download(std::as_writable_bytes(values));
    } else {
      std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
    }
  }
  if (!statement_.has_reference) {
    answer_.verification.error = "the library has no reference, and its own check() is not a judge's";
    return;
  }
  (void)referee_->Require(ReferenceTask(set, 0));
  std::vector<DeviceMemory>& expected = expected_.emplace_back();
  std::uint64_t hash = 0;
  for (const std::size_t i : compared_) {
    expected.emplace_back(shared_[i].size_bytes()).Upload(std::as_bytes(std::span<const double>(shared_[i])));
    hash = Mix(hash ^ HashOnDevice(expected.back()));
  }
  expected_hashes_.push_back(hash);
}

// Sizes of the arrays that the referee sees. For a Python kernel the inputs are on the GPU.
std::vector<std::size_t> Trial::ArrayCounts() const {
  std::vector<std::size_t> counts = sets_->ElementCounts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (question_.in_python && !sets_->tensors()[i].description.is_compared()) counts[i] = 0;
  }
  return counts;
}

// `bits`: those that a Python kernel's inputs are rounded to; 0: all. A library's are in shared_.
nlohmann::json Trial::ReferenceTask(std::size_t set, int bits) const {
  nlohmann::json task = {{"do", "reference"}, {"values", values_}, {"counts", ArrayCounts()}};
  if (!question_.in_python) return task;
  task["seed"] = sets_->SeedOf(set);
  task["round_bits"] = bits;
  for (nlohmann::json output : outputs_) {
    output["shape"] = output.at("extents");
    output["place"] = shared_.Place(output.at("tensor"));
    task["outputs"].push_back(std::move(output));
  }
  return task;
}

void Trial::FindWeak() {
  for (const std::size_t i : compared_) {
    const Tensor& tensor = sets_->tensors()[i];
    const WeakTolerance weak =
        FindWeakTolerance(tensor.description.format, tensor.description.tolerance, shared_[i], tensor.extents);
    if (weak.accepts.empty()) continue;
    answer_.judgement.weak_tolerance =
        tensor.description.name + ": " + weak.accepts + (question_.accept_weak_tolerance ? ", which was allowed" : "");
    if (!question_.accept_weak_tolerance) tolerance_parts_[i] = weak.part;
  }
}

// With fp32 computation on tensor cores: do the results have the error of inputs rounded to TF32? A kernel that splits
// numbers into several TF32 parts does not. Leaves shared_ changed.
void Trial::FindCoarse(std::size_t set, const std::vector<DeviceMemory>& results) {
  constexpr int kTf32Bits = 10;
  constexpr std::size_t kFewResults = 32;  // so few say nothing about the cause of their error
  constexpr double kPart = 0.3;
  const std::vector<Tensor>& tensors = sets_->tensors();
  std::size_t count = 0;
  for (const std::size_t i : compared_) {
    const NumberFormat format = tensors[i].description.format;
    if (!IsInteger(format) && format != NumberFormat::kFp32) return;
    if (format == NumberFormat::kFp32) count += tensors[i].elements;
  }
  const bool tensor_cores =
      evidence_.alone.sum.counts.tensor_cycles > kTensorPart * evidence_.alone.sum.counts.sm_cycles;
  if (!mostly_fp32_ || !tensor_cores || count < kFewResults || question_.accept_weak_tolerance) return;
  std::vector<std::vector<double>> exact;
  for (const std::size_t i : compared_) exact.emplace_back(shared_[i].begin(), shared_[i].end());
  for (std::size_t i = 0; i < tensors.size() && !question_.in_python; ++i) {
    const NumberFormat format = tensors[i].description.format;
    if (!tensors[i].description.is_drawn()) continue;
    const DeviceMemory decoded(shared_[i].size_bytes());
    DecodeOnDevice(sets_->Drawn(set, i), format, decoded);
    decoded.Download(std::as_writable_bytes(shared_[i]));
    if (format != NumberFormat::kFp32) continue;
    for (double& value : shared_[i]) value = RoundToBits(kTf32Bits, value);
  }
  (void)referee_->Require(ReferenceTask(set, kTf32Bits));
  double of_rounding = 0.0;
  double of_kernel = 0.0;
  for (std::size_t k = 0; k < compared_.size(); ++k) {
    if (tensors[compared_[k]].description.format != NumberFormat::kFp32) continue;
    std::vector<float> given(exact[k].size());
    results[k].Download(std::as_writable_bytes(std::span(given)));
    for (std::size_t i = 0; i < exact[k].size(); ++i) {
      const double rounded = shared_[compared_[k]][i];
      if (!std::isfinite(exact[k][i]) || !std::isfinite(rounded) || !std::isfinite(given[i])) continue;
      of_rounding += std::pow(shared_[compared_[k]][i] - exact[k][i], 2);
      of_kernel += std::pow(given[i] - exact[k][i], 2);
    }
  }
  if (std::sqrt(of_kernel) < kPart * std::sqrt(of_rounding) || of_rounding == 0.0) return;
  Refuse("the inputs are fp32, and the results have the error of TF32: tensor cores multiply 11 bits of them");
}

// Compares with what the set's calls must return. `when`: used in an error's location.
bool Trial::Matches(std::size_t set, const std::vector<const DeviceMemory*>& results, const std::string& when) {
  Verification& verification = answer_.verification;
  bool right = true;
  for (std::size_t k = 0; k < compared_.size(); ++k) {
    const Tensor& tensor = sets_->tensors()[compared_[k]];
    const NumberFormat format = tensor.description.format;
    Tolerance tolerance = tensor.description.tolerance;
    tolerance.absolute *= tolerance_parts_[compared_[k]];
    tolerance.relative *= tolerance_parts_[compared_[k]];
    const DeviceErrors found = CompareOnDevice(*results[k], format, expected_[set][k], tolerance);
    verification.max_abs_error = std::max(verification.max_abs_error, found.max_abs_error);
    verification.max_error_ratio = std::max(verification.max_error_ratio, found.max_error_ratio);
    verification.nonfinite += static_cast<std::int64_t>(found.nonfinite);
    verification.unwritten += static_cast<std::int64_t>(found.unwritten);
    if (found.wrong == 0) continue;
    right = false;
    if (!verification.where.empty()) continue;
    const std::size_t bytes = BytesOf(format);
    std::array<std::byte, sizeof(std::uint64_t)> element{};
    results[k]->Download(std::span(element).first(bytes), found.first * bytes);
    const std::uint64_t bits = LoadBits(format, element, 0);
    double wanted = 0.0;
    expected_[set][k].Download(std::as_writable_bytes(std::span(&wanted, 1)), found.first * sizeof wanted);
    const std::string how = found.unwritten > 0 && bits == PoisonOf(format)
                                ? "never written"
                                : fmt::format("{:.9g}, expected {:.9g}", Decode(format, bits), wanted);
    verification.where =
        tensor.description.name + PlaceOf(static_cast<std::int64_t>(found.first), tensor.extents) + ": " + how + when;
  }
  return right;
}

void Trial::CompareSoaked() {
  for (std::size_t set = 0; set < expected_.size(); ++set) {
    ++answer_.judgement.calls;
    if (sets_->ResultHash(set) == result_hashes_[set]) continue;  // same bits as a result found correct
    NoteDifference(set);
    if (!Matches(set, Present(set), fmt::format(" in call {} after the timing", answer_.judgement.calls))) {
      ++answer_.judgement.wrong_calls;
    }
  }
}

// Calls continue after the timing, on inputs whose results are known by now, to count rare errors.
void Trial::Soak() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::vector<std::size_t> order;
  for (std::size_t set = 0; set < expected_.size(); ++set) order.push_back(set);
  while (answer_.judgement.calls < question_.calls &&
         std::chrono::duration<double>(Clock::now() - start).count() < kSoakSeconds) {
    sets_->RestoreInPlace();
    sets_->Poison(Poison::kRandom, random_());
    std::ranges::shuffle(order, random_);
    calls_->Unwatched(order);
    CompareSoaked();
  }
  // Catches late writes: the results must still be there when the device has been idle.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  calls_->FetchAgain();
  for (std::size_t set = 0; set < expected_.size(); ++set) {
    if (!Matches(set, Present(set), ", some time after the call had ended")) ++answer_.judgement.wrong_calls;
  }
}

void Trial::Refuse(const std::string& reason) {
  if (refused_.empty()) refused_ = reason;
}

}  // namespace fa_profile::judge
