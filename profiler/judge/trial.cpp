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
constexpr std::size_t kInPlaceSets = 16;  // of a kernel that changes its inputs: each is used once a burst
constexpr double kBurstNs = 3e6;          // 150 readings of the witness
constexpr int kMostCallsAGraph = 400;
constexpr int kBurstsARound = 3;
constexpr double kMostApart = 300;  // calls in separate graphs, one after the other
constexpr double kSoakSeconds = 1.0;

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

// No code of the kernel runs before the GPU was seen idle.
void Trial::StartProcesses() {
  // The worker of a library makes its CUDA context while the witness opens: both take long.
  std::future<void> context;
  if (!question_.in_python) {
    worker_.emplace(question_, /*with_gpu=*/true, -1);
    context = std::async(std::launch::async, [this] {
      (void)worker_->Require({{"do", "device"}, {"device", question_.device}});
    });
  }
  if (question_.timing) OpenWitness();
  if (context.valid()) context.get();
  if (witness_) {
    const Watched before = witness_->Watch([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    alone_on_gpu_ = before.instructions == 0;
  }
  referee_.emplace(question_, /*with_gpu=*/false, shared_.descriptor());
  if (!worker_) worker_.emplace(question_, /*with_gpu=*/true, -1);
}

// What the kernel takes and gives. False: it refuses the parameters, or fails in its first call.
bool Trial::Load() {
  std::future<nlohmann::json> description = std::async(std::launch::async, [this] {
    return referee_->Require({{"do", "describe"}, {"device", question_.device}});
  });
  nlohmann::json loaded;
  try {
    loaded = worker_->Require({{"do", "load"}, {"values", values_}, {"device", question_.device}});
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
  if (std::isfinite(flops) && flops > 0) answer_.work.flops = flops;
  if (std::isfinite(bytes) && bytes > 0) answer_.work.bytes = bytes;
  if (question_.in_python) AddOutputs(loaded, {described.at("tolerance").at(0), described.at("tolerance").at(1)});
  all_fp32_ = described.value("all_fp32", true) &&
              std::ranges::all_of(statement_.tensors, [&](const TensorDescription& tensor) {
                const bool is_bytes = question_.in_python && !tensor.is_compared();
                return is_bytes || tensor.format == NumberFormat::kFp32;
              });
  MakeSets(loaded.value("workspace_bytes", std::size_t{0}));
  return true;
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

// All calls of the trial, in rounds of fresh inputs.
void Trial::Calls() {
  (void)worker_->Require({{"do", "open"}, {"sets", sets_->Handles()}});
  Warm();
  const std::size_t sets = std::min(kSets, sets_->count());
  const int rounds = std::max(2, static_cast<int>((static_cast<std::size_t>(question_.draws) + sets - 1) / sets));
  for (int round = 0; round < rounds && answer_.verification.error.empty(); ++round) {
    Round(round);
    if (progress_) progress_(round + 1, rounds);
    if (answer_.verification.draws_passed < answer_.verification.draws) break;
  }
  if (answer_.verification.correct()) Soak();
}

// Without the GPU's counters results are still judged.
void Trial::OpenWitness() {
  try {
    witness_.emplace(gpu_, 0.0);
  } catch (const Error& error) {
    why_no_witness_ = error.Headline();
  }
}

// What a kernel in Python returned in its first call. An argument among them is in place.
void Trial::AddOutputs(const nlohmann::json& loaded, const Tolerance& tolerance) {
  const std::size_t inputs = statement_.tensors.size();
  outputs_ = loaded.at("outputs");
  for (nlohmann::json& output : outputs_) {
    // The referee gets the extents and the type that results are compared with here: a worker cannot claim two.
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

// What a library sets up in its first calls, on inputs that are not judged.
void Trial::Warm() {
  constexpr int kWarmCalls = 3;
  sets_->Draw(random_(), values_, *referee_, shared_);
  sets_->Deliver(Shuffled(1));
  sets_->Poison(Poison::kMarked, random_());
  double longest_ns = 0.0;
  for (int i = 0; i < kWarmCalls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Run(Shuffled(1), 0);
    if (witness_) sets_->Capture(0);  // it watches copies of results too
    longest_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  }
  // Calls or copies of many milliseconds fill the witness's buffer unless it reads the counters less often.
  if (witness_ && longest_ns > witness_->longest_ns()) {
    witness_.reset();
    witness_.emplace(gpu_, 2 * longest_ns);
  }
  single_ = MakeGraphs(1).value("error", std::string()).empty() ? 1 : 0;
  PlanBursts();
}

// Graphs of so many calls. The worker may refuse; it tells where they write outside the judge's memory. A library
// cannot tell which graphs have their outputs overwritten: they are made first or last.
nlohmann::json Trial::MakeGraphs(int chain) {
  const bool twice = chain > 1 && !question_.in_python;
  const bool overwritten_first = twice && random_() % 2 == 0;
  nlohmann::json made;
  for (const bool overwritten : {overwritten_first, !overwritten_first}) {
    if (overwritten && !twice) continue;
    made = worker_->Ask({{"do", "graph"}, {"chain", chain}, {"overwritten", overwritten}});
    if (!made.value("error", std::string()).empty()) break;
  }
  if (made.contains("outputs")) sets_->TakeOutputs(chain, made["outputs"]);
  return made;
}

// How many calls give a burst that the witness times well.
void Trial::PlanBursts() {
  chain_ = single_;
  if (sets_->has_in_place()) return;
  if (single_ == 0) return PlanCalls();
  constexpr int kFirstChain = 16;
  if (!MakeGraphs(kFirstChain).value("error", std::string()).empty()) return;
  chain_ = kFirstChain;
  if (!witness_) return;
  (void)RunWatched(Shuffled(1), kFirstChain);
  const Watched seen = RunWatched(Shuffled(1), kFirstChain);
  const auto sets = static_cast<double>(sets_->count());
  const double call_ns = std::max(seen.busy_ns / (sets * kFirstChain), 200.0);
  // More would fill the witness's buffer. The other half is for the gaps and for copies of results.
  apart_calls_ = static_cast<std::size_t>(std::min(kMostApart, witness_->longest_ns() / (2 * call_ns)));
  const int wanted = std::clamp(static_cast<int>(kBurstNs / (sets * call_ns)), 1, kMostCallsAGraph);
  repeats_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(kBurstNs / (sets * call_ns * wanted))));
  if (wanted == kFirstChain) return;
  if (!MakeGraphs(wanted).value("error", std::string()).empty()) {
    throw ProcessFailed(fmt::format("{} calls cannot be captured in a CUDA graph, and fewer can", wanted), "");
  }
  chain_ = wanted;
}

// Of calls that cannot be captured.
void Trial::PlanCalls() {
  if (!witness_) return;
  const double calls = static_cast<double>(sets_->count());
  (void)RunWatched(Shuffled(1), 0);
  const double call_ns = std::max(RunWatched(Shuffled(1), 0).busy_ns / calls, 1000.0);
  repeats_ = static_cast<std::size_t>(std::clamp(kBurstNs / (calls * call_ns), 1.0, double{kMostCallsAGraph} / calls));
}

std::vector<std::size_t> Trial::Shuffled(std::size_t times) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times * sets_->count(); ++i) order.push_back(i % sets_->count());
  std::ranges::shuffle(order, random_);
  return order;
}

// `deliver`: the worker sees the inputs only when it is watched, so that nothing is computed before.
Watched Trial::RunWatched(const std::vector<std::size_t>& order, int chain, bool deliver) {
  Watched seen;
  if (!witness_) {
    if (deliver) sets_->Deliver(order);
    RunUnwatched(order, chain);
    return seen;
  }
  const auto run = [&] {
    if (deliver) sets_->Deliver(order);
    const auto start = std::chrono::steady_clock::now();
    Run(order, chain);
    wall_ns_ = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  };
  seen = witness_->Watch(run, [&] {
    AskOutputs(chain);
    sets_->Capture(chain);
  });
  sets_->Unpack();
  return seen;
}

void Trial::Run(const std::vector<std::size_t>& order, int chain) {
  (void)worker_->Require({{"do", "run"}, {"order", order}, {"chain", chain}});
}

void Trial::RunUnwatched(const std::vector<std::size_t>& order, int chain) {
  Run(order, chain);
  AskOutputs(chain);
  sets_->Fetch(chain);
}

// Calls in Python without a graph allocate their outputs anew.
void Trial::AskOutputs(int chain) {
  last_chain_ = chain;
  if (question_.in_python && chain == 0) {
    sets_->TakeOutputs(0, worker_->Require({{"do", "outputs"}}).at("outputs"));
  }
}

void Trial::Add(Counted& counted, const Watched& seen, double calls) {
  const double instructions = seen.instructions / calls;
  counted.lowest_instructions = counted.calls == 0 ? instructions : std::min(counted.lowest_instructions, instructions);
  counted.highest_instructions = std::max(counted.highest_instructions, instructions);
  counted.calls += calls;
  counted.sum.instructions += seen.instructions;
  counted.sum.tensor_cycles += seen.tensor_cycles;
  counted.sum.sm_cycles += seen.sm_cycles;
  counted.sum.complete = counted.sum.complete && seen.complete;
  counted.sum.quiet_before = counted.sum.quiet_before && seen.quiet_before;
  counted.sum.quiet_after = counted.sum.quiet_after && seen.quiet_after;
}

// Every set once, in two parts: a call must not touch the tensors of the others.
void Trial::RunAlone() {
  sets_->Fetch(single_);
  const std::vector<std::size_t> order = Shuffled(1);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() + 1) / 2);
  const std::vector<std::size_t> first(order.begin(), middle);
  const std::vector<std::size_t> second(middle, order.end());
  Watched both;
  for (const std::vector<std::size_t>* part : {&first, &second}) {
    if (part->empty()) continue;
    const std::vector<std::size_t>& others = part == &first ? second : first;
    std::vector<std::uint64_t> before;
    for (const std::size_t set : others) before.push_back(sets_->ResultHash(set));
    const Watched seen = RunWatched(*part, single_, /*deliver=*/true);
    both.instructions += seen.instructions;
    both.tensor_cycles += seen.tensor_cycles;
    both.sm_cycles += seen.sm_cycles;
    both.complete = both.complete && seen.complete;
    both.quiet_before = both.quiet_before && seen.quiet_before;
    both.quiet_after = both.quiet_after && seen.quiet_after;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (sets_->ResultHash(others[i]) != before[i]) Refuse("a call writes to the tensors of another call");
    }
  }
  Add(alone_, both, static_cast<double>(order.size()));
}

void Trial::RunBursts() {
  for (int burst = 0; burst < kBurstsARound; ++burst) {
    if (sets_->has_in_place()) {
      if (burst > 0) sets_->RestoreInPlace();
      sets_->Poison(Poison::kRandom, random_());
    }
    const std::vector<std::size_t> order = Shuffled(repeats_);
    const Watched seen = RunWatched(order, chain_);
    const double calls = static_cast<double>(order.size()) * std::max(chain_, 1);
    Add(timed_, seen, calls);
    answer_.judgement.calls_a_burst = static_cast<std::int64_t>(calls);
    answer_.judgement.calls_a_graph = chain_;
    if (!witness_) continue;
    answer_.judgement.durations_ns.push_back(seen.busy_ns / calls);
    // The worker's answer comes soon after its last work, at least once.
    least_idle_ns_ = std::min(least_idle_ns_, wall_ns_ - (chain_ == 0 ? 1.6 : 1.25) * seen.busy_ns);
  }
}

// A chain whose outputs were overwritten before its last call: that call must write all of them.
void Trial::RunOverwritten() {
  if (chain_ <= 1 || question_.in_python) return;
  sets_->Poison(Poison::kRandom, random_());
  (void)worker_->Require({{"do", "run"}, {"order", Shuffled(1)}, {"chain", chain_}, {"overwritten", true}});
  sets_->Fetch(chain_);
}

// The next calls overwrite the results.
void Trial::KeepResults(std::size_t set, std::vector<std::vector<DeviceMemory>>& kept) const {
  std::vector<DeviceMemory>& copies = kept.emplace_back();
  for (const std::size_t i : compared_) {
    copies.emplace_back(sets_->result(set, i).bytes()).CopyFrom(sets_->result(set, i));
  }
}

// Calls in graphs of their own, one after the other: a graph begins when the one before has ended.
void Trial::RunApart() {
  if (!witness_ || single_ == 0 || chain_ == single_) return;
  sets_->Poison(Poison::kRandom, random_());
  const std::size_t each = std::max<std::size_t>(1, apart_calls_ / sets_->count());
  const std::vector<std::size_t> order = Shuffled(each - random_() % (each / 4 + 1));
  const Watched seen = RunWatched(order, single_);
  const auto calls = static_cast<double>(order.size());
  apart_ns_ = seen.busy_ns / calls;
  apart_instructions_ = seen.instructions / calls;
  timed_.sum.complete = timed_.sum.complete && seen.complete;
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
  // The last results stay in every third round: nothing tells them from right ones but the new inputs.
  if (round % 3 != 2) sets_->Poison(round % 3 == 0 ? Poison::kMarked : Poison::kRandom, random_());
  RunAlone();
  std::vector<std::vector<DeviceMemory>> alone;
  result_hashes_.clear();
  for (std::size_t set = 0; set < sets; ++set) {
    KeepResults(set, alone);
    result_hashes_.push_back(sets_->ResultHash(set));
  }
  std::vector<std::vector<DeviceMemory>> apart;
  std::vector<std::vector<DeviceMemory>> overwritten;
  if (round == 0) {
    RunApart();
    for (std::size_t set = 0; set < sets; ++set) KeepResults(set, apart);
    RunOverwritten();
    for (std::size_t set = 0; set < sets; ++set) KeepResults(set, overwritten);
  }
  sets_->RestoreInPlace();
  sets_->Poison(round % 2 == 0 ? Poison::kRandom : Poison::kMarked, random_());
  RunBursts();
  for (std::size_t set = 0; set < sets; ++set) {
    const bool same = sets_->ResultHash(set) == result_hashes_[set];
    answer_.judgement.same_bits = answer_.judgement.same_bits.value_or(true) && same;
    if (!sets_->InputsAreUnchanged(set) && answer_.verification.where.empty()) {
      answer_.verification.where = "the kernel changed one of its inputs";
    }
  }
  expected_.clear();
  for (std::size_t set = 0; set < sets; ++set) {
    if (set >= kSets && round > 0) break;  // of in-place kernels' many sets, as many as of others
    Expect(set);
    if (!answer_.verification.error.empty()) return;
    if (round == 0 && set == 0) {
      FindWeak();
      FindCoarse(set, alone[set]);
    }
    ++answer_.verification.draws;
    answer_.judgement.calls += 2;
    bool right = Matches(set, Pointers(alone[set]), "");
    if (round == 0) {
      right = right && Matches(set, Pointers(apart[set]), " in a separate graph") &&
              Matches(set, Pointers(overwritten[set]), " in the last call of a chain");
    }
    right = right && Matches(set, Present(set), " in the timed calls");
    if (right && answer_.verification.where.empty()) ++answer_.verification.draws_passed;
  }
}

// What a call on this set must give, to shared_ and to the device.
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

// Of the arrays that the referee sees. One in Python has its inputs on the GPU.
std::vector<std::size_t> Trial::ArrayCounts() const {
  std::vector<std::size_t> counts = sets_->ElementCounts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (question_.in_python && !sets_->tensors()[i].description.is_compared()) counts[i] = 0;
  }
  return counts;
}

// `bits`: of the inputs of a kernel in Python, to which they are rounded; 0: all. A library's are in shared_.
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
    answer_.judgement.weak_tolerance = tensor.description.name + ": " + weak.accepts;
    if (!question_.accept_weak_tolerance) tolerance_parts_[i] = weak.part;
  }
}

// Where every tensor is fp32 and tensor cores worked: do the results have the error of inputs rounded to TF32? A kernel
// that splits numbers into several TF32 parts does not. Leaves shared_ changed.
void Trial::FindCoarse(std::size_t set, const std::vector<DeviceMemory>& results) {
  constexpr int kTf32Bits = 10;
  constexpr std::size_t kFewResults = 32;  // the error of so few says nothing of its cause
  constexpr double kPart = 0.3;
  const std::vector<Tensor>& tensors = sets_->tensors();
  std::size_t count = 0;
  for (const std::size_t i : compared_) count += tensors[i].elements;
  const bool tensor_cores = alone_.sum.tensor_cycles > kTensorPart * alone_.sum.sm_cycles;
  if (!all_fp32_ || !tensor_cores || count < kFewResults || question_.accept_weak_tolerance) return;
  std::vector<std::vector<double>> exact;
  for (const std::size_t i : compared_) exact.emplace_back(shared_[i].begin(), shared_[i].end());
  for (std::size_t i = 0; i < tensors.size() && !question_.in_python; ++i) {
    if (!tensors[i].description.is_drawn()) continue;
    const DeviceMemory decoded(shared_[i].size_bytes());
    DecodeOnDevice(sets_->Drawn(set, i), NumberFormat::kFp32, decoded);
    decoded.Download(std::as_writable_bytes(shared_[i]));
    for (double& value : shared_[i]) value = RoundToBits(kTf32Bits, value);
  }
  (void)referee_->Require(ReferenceTask(set, kTf32Bits));
  double of_rounding = 0.0;
  double of_kernel = 0.0;
  for (std::size_t k = 0; k < compared_.size(); ++k) {
    std::vector<float> given(exact[k].size());
    results[k].Download(std::as_writable_bytes(std::span(given)));
    for (std::size_t i = 0; i < exact[k].size(); ++i) {
      of_rounding += std::pow(shared_[compared_[k]][i] - exact[k][i], 2);
      of_kernel += std::pow(given[i] - exact[k][i], 2);
    }
  }
  if (std::sqrt(of_kernel) < kPart * std::sqrt(of_rounding) || of_rounding == 0.0) return;
  Refuse("all tensors are fp32, and the results have the error of TF32: tensor cores multiply 11 bits of them");
}

// Compares with what the set's calls must give. `when`: for the place of an error.
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
    if (sets_->ResultHash(set) == result_hashes_[set]) continue;  // the bits of a result that was found right
    answer_.judgement.same_bits = false;
    if (!Matches(set, Present(set), fmt::format(" in call {} after the timing", answer_.judgement.calls))) {
      ++answer_.judgement.wrong_calls;
    }
  }
}

// Calls go on after the timing, on inputs whose results are known by now: errors that are rare are counted.
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
    RunUnwatched(order, single_);
    CompareSoaked();
  }
  // A write that comes late: the results must still be there when the device has been idle.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  sets_->Fetch(last_chain_);
  for (std::size_t set = 0; set < expected_.size(); ++set) {
    if (!Matches(set, Present(set), ", some time after the call had ended")) ++answer_.judgement.wrong_calls;
  }
}

void Trial::Refuse(const std::string& reason) {
  if (refused_.empty()) refused_ = reason;
}

}  // namespace fa_profile::judge
