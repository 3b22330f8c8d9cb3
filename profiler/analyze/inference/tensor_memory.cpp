#include "inference/tensor_memory.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "inference/constant_parts.h"

namespace fa_profile::analyze {
namespace {

using Indices = std::vector<std::uint32_t>;

/// Columns [first, end).
struct Columns {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const Columns&) const = default;
  bool Meets(const Columns& other) const { return first < other.end && other.first < end; }
};

/// Whether all threads access the same place, as far as registers show: "[UR8+0x18000]".
bool IsUniform(const Operands& access) {
  return std::ranges::all_of(access.uses, [](const Use& use) {
    return use.role != Role::kAddress || (use.slot >= kFirstUniform && !IsPredicate(use.slot));
  });
}

SharedWords WordsOf(const DeviceFunction& function, const std::vector<Operands>& operands, const Values& values,
                    StepBudget& budget) {
  ConstantParts parts(function, values, budget);
  SharedWords words;
  std::set<std::int64_t> ambiguous;
  for (std::uint32_t i = 0; i < operands.size() && !budget.exhausted(); ++i) {
    const Instruction& instruction = function.instructions[i];
    if (operands[i].form != Form::kSharedStore || sass::RegistersOf(instruction.opcode) != 1) continue;
    if (sass::AccessBytes(instruction.opcode) != 4 || !IsUniform(operands[i])) continue;
    if (SplitOperands(instruction.operands).size() != 2) continue;  // an address and the word
    const std::int64_t place = parts.OfAddress(i, SharedAddress(instruction));
    if (!words.try_emplace(place, i).second) ambiguous.insert(place);
  }
  for (const std::int64_t place : ambiguous) words.erase(place);
  return words;
}

class TensorMemoryReader {
 public:
  TensorMemoryReader(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                     const Values& values, StepBudget& budget)
      : function_(function),
        operands_(operands),
        flow_(flow),
        budget_(budget),
        parts_(function, values, budget, ConstantParts::Rule::kOnlyKnown, WordsOf(function, operands, values, budget)) {
    const std::size_t count = operands.size();
    memory_.used = true;
    memory_.sources.resize(count);
    memory_.sums.resize(count);
    memory_.readers.resize(count);
    memory_.shape.resize(count);
    memory_.column.resize(count);
    memory_.links.resize(flow.graph.blocks.size());
    columns_.resize(count);
  }

  TensorMemory Read() {
    for (std::uint32_t i = 0; i < operands_.size() && !budget_.exhausted(); ++i) {
      if (operands_[i].never) continue;
      if (operands_[i].form == Form::kTensorMemory) ReadProduct(i);
      if (operands_[i].form == Form::kTensorLoad) ReadAccess(i, loads_);
      if (operands_[i].form == Form::kTensorStore) ReadAccess(i, stores_);
    }
    for (const std::uint32_t load : loads_) Connect(WritersFor(load), load, memory_.sources);
    for (const std::uint32_t product : products_) ConnectStage(product);
    for (const std::uint32_t product : products_) {
      if (const auto a = ColumnsOfA(product)) Connect(WritersOfA(*a), product, memory_.sources);
      if (Accumulates(product)) Connect(WritersOfSum(product), product, memory_.sums);
    }
    return std::move(memory_);
  }

 private:
  std::vector<std::string_view> TextsOf(std::uint32_t i) const {
    return SplitOperands(function_.instructions[i].operands);
  }

  // A, B, result, ..., instruction descriptor, ..., whether it accumulates.
  void ReadProduct(std::uint32_t i) {
    constexpr std::size_t kResult = 2;
    const std::vector<std::string_view> texts = TextsOf(i);
    if (texts.size() <= kResult) return;
    for (const std::string_view text : texts) {
      if (!text.starts_with("idesc")) continue;
      const auto descriptor = static_cast<std::uint32_t>(parts_.OfAddress(i, text));
      memory_.shape[i] = sass::ShapeOf(function_.instructions[i].opcode, descriptor);
    }
    // If N is not known, all that a result can have: then the next result below a place is meant.
    constexpr int kMostColumns = 256;
    const std::int64_t first = parts_.OfAddress(i, texts[kResult]);
    columns_[i] = {first, first + (memory_.shape[i] ? memory_.shape[i]->n : kMostColumns)};
    memory_.column[i] = first;
    products_.push_back(i);
  }

  void ReadAccess(std::uint32_t i, Indices& accesses) {
    for (const std::string_view text : TextsOf(i)) {
      if (text.find('[') == std::string_view::npos) continue;
      const std::int64_t first = parts_.OfAddress(i, text);
      columns_[i] = {first, first + sass::TensorColumns(function_.instructions[i].opcode)};
      memory_.column[i] = first;
      accesses.push_back(i);
      return;
    }
  }

  std::optional<Columns> ColumnsOfA(std::uint32_t product) {
    constexpr int kColumnsOfK = 8;  // 32 bytes
    const std::vector<std::string_view> texts = TextsOf(product);
    if (!texts.front().starts_with("tmem")) return std::nullopt;
    const std::int64_t first = parts_.OfAddress(product, texts.front());
    return Columns{first, first + kColumnsOfK};
  }

  bool Accumulates(std::uint32_t product) const { return TextsOf(product).back() != "!UPT"; }

  template <typename Is>
  Indices Those(const Indices& all, const Is& is) {
    Indices chosen;
    if (!budget_.Spend(all.size())) return chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen), is);
    return chosen;
  }

  Indices Meeting(const Indices& all, const Columns& columns) {
    return Those(all, [&](std::uint32_t one) { return columns_[one].Meets(columns); });
  }

  /// A load takes results of products out, but for a few columns, by which softmax hands maxima and sums to the warps
  /// that rescale the output: they may lie where scores were.
  Indices WritersFor(std::uint32_t load) {
    constexpr int kFewColumns = 4;
    const Columns& columns = columns_[load];
    if (columns.end - columns.first <= kFewColumns) {
      Indices same = Those(stores_, [&](std::uint32_t store) { return columns_[store] == columns; });
      if (!same.empty()) return same;
    }
    Indices products = Meeting(products_, columns);
    return products.empty() ? Meeting(stores_, columns) : products;
  }

  /// A result that nothing reads where it lies is in another stage of a buffer that a loop walks through: the loop's
  /// addresses have its first stage's column, because their scaled terms are left out. What reads results of that shape
  /// from columns before it reads this one, too.
  void ConnectStage(std::uint32_t product) {
    if (!memory_.shape[product] || ReadByLoads(product)) return;
    std::optional<std::uint32_t> first;
    for (const std::uint32_t other : products_) {
      const bool same = memory_.shape[other] && memory_.shape[other]->m == memory_.shape[product]->m &&
                        memory_.shape[other]->n == memory_.shape[product]->n;
      if (!budget_.Spend() || !same || columns_[other].first >= columns_[product].first) continue;
      if (ReadByLoads(other) && (!first || columns_[other].first > columns_[*first].first)) first = other;
    }
    if (!first) return;
    const Indices readers = memory_.readers[*first];
    for (const std::uint32_t reader : readers) {
      if (operands_[reader].form != Form::kTensorLoad) continue;
      Indices writers = std::move(memory_.sources[reader]);
      Connect({product}, reader, memory_.sources);
      writers.push_back(product);
      memory_.sources[reader] = std::move(writers);
    }
  }

  bool ReadByLoads(std::uint32_t product) const {
    return std::ranges::any_of(memory_.readers[product],
                               [&](std::uint32_t reader) { return operands_[reader].form == Form::kTensorLoad; });
  }

  /// A was stored by warps, though it may lie where scores were.
  Indices WritersOfA(const Columns& a) {
    Indices stores = Meeting(stores_, a);
    return stores.empty() ? Meeting(products_, a) : stores;
  }

  Indices WritersOfSum(std::uint32_t product) {
    const Columns& result = columns_[product];
    Indices writers = Those(products_, [&](std::uint32_t one) { return columns_[one].first == result.first; });
    const Indices stores = Meeting(stores_, result);
    writers.insert(writers.end(), stores.begin(), stores.end());
    return writers;
  }

  void Connect(Indices writers, std::uint32_t reader, std::vector<Indices>& by_reader) {
    const std::size_t to = flow_.graph.block_of[reader];
    for (const std::uint32_t writer : writers) {
      if (!budget_.Spend(4)) return;
      memory_.readers[writer].push_back(reader);
      std::vector<std::size_t>& links = memory_.links[flow_.graph.block_of[writer]];
      if (std::ranges::find(links, to) == links.end()) links.push_back(to);
    }
    by_reader[reader] = std::move(writers);
  }

  const DeviceFunction& function_;
  const std::vector<Operands>& operands_;
  const Flow& flow_;
  StepBudget& budget_;
  ConstantParts parts_;
  TensorMemory memory_;
  std::vector<Columns> columns_;  // by instruction
  Indices products_;
  Indices loads_;
  Indices stores_;
};

}  // namespace

TensorMemory ReadTensorMemory(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                              const Values& values, StepBudget& budget) {
  const auto is_product = [](const Operands& one) { return one.form == Form::kTensorMemory && !one.never; };
  if (std::ranges::none_of(operands, is_product)) return {};
  return TensorMemoryReader(function, operands, flow, values, budget).Read();
}

}  // namespace fa_profile::analyze
