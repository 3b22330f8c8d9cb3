#include "inference/memory.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "inference/constant_parts.h"
#include "inference/overwrites.h"

namespace fa_profile::analyze {
namespace {

using Indices = std::vector<std::uint32_t>;

bool IsSharedStore(Form form) {
  return form == Form::kSharedStore || form == Form::kAsyncCopy || form == Form::kSharedAtomic;
}

/// Stores to adjacent places, and the first and last place.
struct Buffer {
  std::int64_t first = 0;
  std::int64_t last = 0;
  Indices stores;
};

class MemoryReader {
 public:
  MemoryReader(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
               const Edges& forward, const Values& values, SharedMemoryModel model, StepBudget& budget)
      : function_(function),
        operands_(operands),
        flow_(flow),
        forward_(forward),
        values_(values),
        model_(model),
        budget_(budget),
        overwrites_(function, operands, flow, forward, values, budget) {
    memory_.place.resize(operands.size());
    memory_.sources.resize(operands.size());
    memory_.readers.resize(operands.size());
  }

  Memory Read() {
    FindPlaces();
    Connect([](Form form) { return IsSharedStore(form); }, [](Form form) { return form == Form::kSharedLoad; });
    Connect([](Form form) { return form == Form::kLocalStore; }, [](Form form) { return form == Form::kLocalLoad; });
    return std::move(memory_);
  }

 private:
  void FindPlaces() {
    ConstantParts parts(function_, values_, budget_);
    for (const Value value : values_.order()) {
      if (values_.IsJoin(value)) continue;
      const Form form = operands_[value].form;
      const bool is_access =
          IsSharedStore(form) || form == Form::kSharedLoad || form == Form::kLocalLoad || form == Form::kLocalStore;
      if (!is_access || operands_[value].never || budget_.exhausted()) continue;
      const std::string_view address = SharedAddress(function_.instructions[value]);
      if (!address.empty()) memory_.place[value] = parts.OfAddress(value, address);
    }
  }

  /// Base of the opcode that made the stored value, before moves and conversions; LDGSTS for a copy, empty for a
  /// constant.
  std::string_view MakerOf(std::uint32_t store) const {
    if (operands_[store].form == Form::kAsyncCopy) return BaseOf(store);
    constexpr int kMostMoves = 6;
    std::uint32_t made = store;
    for (int i = 0; i < kMostMoves; ++i) {
      const auto uses = values_.UsesOf(made);
      const auto data = std::ranges::find_if(uses, [](const ValueUse& use) { return IsData(use.role); });
      if (data == uses.end()) return {};
      const Indices definitions = values_.DefinitionsOf(data->value, budget_);
      if (definitions.empty()) return {};
      made = definitions.front();
      if (!MayMove(made)) break;
    }
    return BaseOf(made);
  }

  std::string_view BaseOf(std::uint32_t i) const {
    const std::string_view opcode = function_.instructions[i].opcode;
    return opcode.substr(0, opcode.find('.'));
  }

  /// ptxas also moves by IMAD, and converts from fp16 by HADD2.
  bool MayMove(std::uint32_t i) const {
    const sass::Opcode& row = sass::FindOpcode(function_.instructions[i].opcode);
    return sass::IsMove(operands_[i].form) || row.traits.integer == sass::IntegerOp::kMultiplyAdd ||
           (row.opcode_class == sass::OpcodeClass::kFp16 && row.form == Form::kAdd);
  }

  static bool IsWide(std::string_view opcode) {
    return sass::RegistersOf(opcode) > 1 || sass::ClassOf(opcode) == sass::OpcodeClass::kMatrixStore;
  }

  /// How far apart two stores of one kind may be while still writing one buffer.
  static std::int64_t LargestGap(Form form, std::string_view opcode, std::int64_t so_far) {
    constexpr std::int64_t kScalarGap = 0x80;    // one row of a warp's floats
    constexpr std::int64_t kVectorGap = 0x1000;  // rows of a tile, in the swizzles that are in use
    if (form == Form::kLocalStore) return 0;
    return IsWide(opcode) ? std::max(kVectorGap, 4 * so_far) : kScalarGap;
  }

  /// Computed values, stored one by one, inside what was loaded and stored 16 bytes at a time: the copy's last places
  /// belong to an unrolled loop that ends before them. Two buffers.
  bool IsInsideCopy(const Buffer& run, const Buffer& copy) const {
    const auto is_load = [](std::string_view maker) {
      const Form form = sass::FormOf(maker);
      return form == Form::kGlobalLoad || form == Form::kAsyncCopy;
    };
    const std::string_view made = MakerOf(run.stores.front());
    return run.first > copy.first && !made.empty() && !is_load(made) && is_load(MakerOf(copy.stores.front())) &&
           !IsWide(function_.instructions[run.stores.front()].opcode);
  }

  std::vector<Buffer> Group(const Indices& stores) const {
    std::map<std::pair<std::string_view, std::string_view>, Indices> kinds;
    for (const std::uint32_t store : stores) {
      kinds[{function_.instructions[store].opcode, MakerOf(store)}].push_back(store);
    }
    std::vector<Buffer> runs;
    for (auto& [kind, members] : kinds) {
      std::ranges::stable_sort(members, {}, [&](std::uint32_t store) { return *memory_.place[store]; });
      std::int64_t largest = 0;
      bool first = true;
      for (const std::uint32_t store : members) {
        const std::int64_t place = *memory_.place[store];
        const std::int64_t gap = first ? 0 : place - runs.back().last;
        if (first || gap > LargestGap(operands_[store].form, kind.first, largest)) {
          runs.push_back({place, place, {}});
          largest = 0;
        } else {
          largest = std::max(largest, gap);
        }
        runs.back().last = place;
        runs.back().stores.push_back(store);
        first = false;
      }
    }
    std::ranges::stable_sort(runs, {}, &Buffer::first);
    std::vector<Buffer> buffers;
    for (Buffer& run : runs) {
      if (buffers.empty() || run.first > buffers.back().last || IsInsideCopy(run, buffers.back())) {
        buffers.push_back(std::move(run));
        continue;
      }
      buffers.back().last = std::max(buffers.back().last, run.last);
      buffers.back().stores.insert(buffers.back().stores.end(), run.stores.begin(), run.stores.end());
    }
    return buffers;
  }

  template <typename IsStore, typename IsLoad>
  void Connect(const IsStore& is_store, const IsLoad& is_load) {
    Indices stores;
    for (std::uint32_t i = 0; i < operands_.size(); ++i) {
      if (is_store(operands_[i].form) && memory_.place[i]) stores.push_back(i);
    }
    if (stores.empty()) return;
    const std::vector<Buffer> buffers = Group(stores);
    for (std::uint32_t load = 0; load < operands_.size() && !budget_.exhausted(); ++load) {
      if (is_load(operands_[load].form) && memory_.place[load]) ConnectLoad(load, buffers);
    }
  }

  /// Whether the address is the stack pointer and a constant, "[R1+0x34]".
  bool IsStackSlot(std::uint32_t access) const {
    const auto uses = values_.UsesOf(access);
    return std::ranges::none_of(uses, [](const ValueUse& use) {
      constexpr Slot kStackPointer = 1;
      return use.role == Role::kAddress && use.slot != kStackPointer;
    });
  }

  /// Slots of the stack that a load or store accesses.
  std::int64_t BytesOf(std::uint32_t access) const {
    return std::int64_t{4} * sass::RegistersOf(function_.instructions[access].opcode);
  }

  void ConnectStackSlot(std::uint32_t load, const std::vector<Buffer>& buffers) {
    const std::int64_t place = *memory_.place[load];
    for (const Buffer& buffer : buffers) {
      for (const std::uint32_t store : buffer.stores) {
        const std::int64_t first = *memory_.place[store];
        const bool overlaps = first < place + BytesOf(load) && place < first + BytesOf(store);
        if (!budget_.Spend()) return;
        if (!overlaps || !Reaches(store, load)) continue;
        memory_.sources[load].push_back(store);
        memory_.readers[store].push_back(load);
      }
    }
  }

  void ConnectLoad(std::uint32_t load, const std::vector<Buffer>& buffers) {
    if (operands_[load].form == Form::kLocalLoad && IsStackSlot(load)) {
      ConnectStackSlot(load, buffers);
      return;
    }
    Indices sources = NearestReaching(load, buffers);
    if (sources.empty()) return;
    if (operands_[load].form == Form::kSharedLoad && model_ != SharedMemoryModel::kEveryStore) {
      if (model_ == SharedMemoryModel::kNewestOfAll) AddReachingAround(load, buffers, sources);
      Indices newest = Newest(sources, load);
      if (!newest.empty()) sources = std::move(newest);
    }
    for (const std::uint32_t store : sources) {
      if (!budget_.Spend(10)) return;
      memory_.readers[store].push_back(load);
    }
    memory_.sources[load] = std::move(sources);
  }

  Indices Reaching(const Buffer& buffer, std::uint32_t load) {
    Indices reaching;
    for (const std::uint32_t store : buffer.stores) {
      if (!budget_.Spend()) return {};
      if (Reaches(store, load)) reaching.push_back(store);
    }
    return reaching;
  }

  /// Stores of the nearest buffer below; if all are above the load, of the nearest.
  Indices NearestReaching(std::uint32_t load, const std::vector<Buffer>& buffers) {
    bool found = false;
    Indices sources;
    for (const Buffer& buffer : buffers) {
      const bool below = buffer.first <= *memory_.place[load];
      if (!below && found) break;
      Indices reaching = Reaching(buffer, load);
      if (reaching.empty()) continue;
      found = true;
      sources = std::move(reaching);
    }
    return sources;
  }

  /// Adds the stores of all buffers around the load's place.
  void AddReachingAround(std::uint32_t load, const std::vector<Buffer>& buffers, Indices& sources) {
    const std::int64_t place = *memory_.place[load];
    for (const Buffer& buffer : buffers) {
      if (place < buffer.first || buffer.last < place) continue;
      const Indices reaching = Reaching(buffer, load);
      sources.insert(sources.end(), reaching.begin(), reaching.end());
    }
    std::ranges::sort(sources);
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  }

  bool Reaches(std::uint32_t store, std::uint32_t load) {
    constexpr std::size_t kLookupCost = 8;
    budget_.Spend(kLookupCost);
    const std::size_t from = flow_.graph.block_of[store];
    const std::size_t to = flow_.graph.block_of[load];
    if (from == to && store < load) return true;
    const auto [found, is_new] = reached_.try_emplace(from);
    if (is_new) found->second = Reached({from}, forward_, budget_);
    return !found->second.empty() && found->second[to];
  }

  /// Backwards from the load, on each path: the stores up to the first barrier before the last of them.
  Indices Newest(const Indices& stores, std::uint32_t load) {
    std::map<std::size_t, Indices> by_block;
    for (const std::uint32_t store : stores) by_block[flow_.graph.block_of[store]].push_back(store);
    Indices newest;
    std::vector<std::array<bool, 2>> seen(flow_.graph.blocks.size(), {false, false});  // by whether one was found
    std::vector<std::tuple<std::size_t, std::size_t, bool>> pending;                   // block, from where, found
    pending.emplace_back(flow_.graph.block_of[load], load, false);
    while (!pending.empty() && budget_.Spend(4)) {
      auto [block, end, found] = pending.back();
      pending.pop_back();
      bool ended = false;
      const auto here = by_block.find(block);
      const std::size_t first = flow_.graph.blocks[block].first;
      for (std::size_t i = end; i > first && !ended; --i) {
        const auto index = static_cast<std::uint32_t>(i - 1);
        if (operands_[index].form == Form::kBarrier) {
          ended = found && sass::WaitsAtBarrier(function_.instructions[index].opcode);
        } else if (here != by_block.end() && std::ranges::find(here->second, index) != here->second.end()) {
          newest.push_back(index);
          found = true;
        }
      }
      if (!budget_.Spend(end - first)) return {};
      if (ended) continue;
      for (const std::size_t before : flow_.predecessors[block]) {
        if (seen[before][found ? 1 : 0]) continue;
        seen[before][found ? 1 : 0] = true;
        pending.emplace_back(before, flow_.graph.blocks[before].end, found);
      }
    }
    std::ranges::sort(newest);
    newest.erase(std::unique(newest.begin(), newest.end()), newest.end());
    return overwrites_.Left(newest, load);
  }

  const DeviceFunction& function_;
  const std::vector<Operands>& operands_;
  const Flow& flow_;
  const Edges& forward_;
  const Values& values_;
  SharedMemoryModel model_;
  StepBudget& budget_;
  Overwrites overwrites_;
  Memory memory_;
  std::map<std::size_t, std::vector<bool>> reached_;  // by block of a store
};

}  // namespace

Memory ReadMemory(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                  const Edges& forward, const Values& values, const TensorMemory& tensor, SharedMemoryModel model,
                  StepBudget& budget) {
  Memory memory = MemoryReader(function, operands, flow, forward, values, model, budget).Read();
  memory.sums.resize(operands.size());
  for (std::size_t i = 0; tensor.used && i < operands.size() && budget.Spend(); ++i) {
    if (!tensor.sources[i].empty()) memory.sources[i] = tensor.sources[i];
    if (!tensor.readers[i].empty()) memory.readers[i] = tensor.readers[i];
    memory.sums[i] = tensor.sums[i];
  }
  return memory;
}

}  // namespace fa_profile::analyze
