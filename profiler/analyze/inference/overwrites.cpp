#include "inference/overwrites.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {

Overwrites::Overwrites(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                       const Edges& forward, const Values& values, StepBudget& budget)
    : function_(function),
      operands_(operands),
      flow_(flow),
      values_(values),
      budget_(budget),
      before_(flow.graph.blocks.size()) {
  for (std::size_t block = 0; block < forward.size(); ++block) {
    for (const std::size_t next : forward[block]) before_[next].push_back(block);
  }
}

std::vector<std::uint32_t> Overwrites::Left(const std::vector<std::uint32_t>& stores, std::uint32_t load) {
  const std::vector<Group> groups = GroupsOf(stores);
  const auto has = [&](Kind kind) { return std::ranges::find(groups, kind, &Group::kind) != groups.end(); };
  if (!has(Kind::kCopied) || !has(Kind::kComputed)) return stores;
  std::vector<std::uint32_t> left;
  for (const Group& group : groups) {
    const bool overwritten = std::ranges::any_of(groups, [&](const Group& other) {
      if (group.kind == other.kind || group.kind == Kind::kConstant || other.kind == Kind::kConstant) return false;
      const std::uint32_t early = group.stores.back();
      const std::uint32_t late = other.stores.front();
      return Precedes(early, late, load, false) && !Precedes(early, late, load, true) &&
             !Precedes(late, early, load, false);
    });
    if (!overwritten) left.insert(left.end(), group.stores.begin(), group.stores.end());
  }
  std::ranges::sort(left);
  return left.empty() ? stores : left;
}

std::vector<Overwrites::Group> Overwrites::GroupsOf(const std::vector<std::uint32_t>& stores) {
  std::vector<Group> groups;
  std::size_t first_of_run = 0;  // in `groups`: since the last barrier, or the beginning of the block
  std::uint32_t previous = 0;
  for (const std::uint32_t store : stores) {
    bool apart = groups.empty() || flow_.graph.block_of[previous] != flow_.graph.block_of[store];
    for (std::uint32_t i = previous; i < store && !apart; ++i) apart = IsWait(i);
    if (!budget_.Spend(apart ? 1 : 1 + store - previous)) return groups;
    if (apart) first_of_run = groups.size();
    const Kind kind = KindOf(store);
    const auto run = groups.begin() + static_cast<std::ptrdiff_t>(first_of_run);
    const auto same = std::find_if(run, groups.end(), [&](const Group& group) { return group.kind == kind; });
    (same == groups.end() ? groups.emplace_back(Group{kind, {}}) : *same).stores.push_back(store);
    previous = store;
  }
  return groups;
}

Overwrites::Kind Overwrites::KindOf(std::uint32_t store) {
  const auto [found, is_new] = kinds_.try_emplace(store, Kind::kConstant);
  if (is_new) found->second = ReadKind(store);
  return found->second;
}

Overwrites::Kind Overwrites::ReadKind(std::uint32_t store) {
  if (operands_[store].form == Form::kAsyncCopy) return Kind::kCopied;
  constexpr std::size_t kMostMoves = 64;  // a tile's edge is filled with zeros: several definitions
  std::vector<std::uint32_t> pending = {store};
  std::vector<std::uint32_t> seen = pending;
  bool computed = false;
  while (!pending.empty() && budget_.Spend(10)) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    for (const ValueUse& use : values_.UsesOf(at)) {
      if (!IsData(use.role)) continue;
      for (const std::uint32_t definition : values_.DefinitionsOf(use.value, budget_)) {
        const Form form = operands_[definition].form;
        if (form == Form::kGlobalLoad) return Kind::kCopied;
        if (!sass::IsMove(form)) {
          computed = computed || form != Form::kAddress;
          continue;
        }
        if (seen.size() >= kMostMoves || std::ranges::find(seen, definition) != seen.end()) continue;
        seen.push_back(definition);
        pending.push_back(definition);
      }
    }
  }
  return computed ? Kind::kComputed : Kind::kConstant;
}

bool Overwrites::IsWait(std::uint32_t instruction) const {
  return operands_[instruction].form == Form::kBarrier &&
         sass::WaitsAtBarrier(function_.instructions[instruction].opcode);
}

bool Overwrites::Precedes(std::uint32_t first, std::uint32_t last, std::uint32_t load, bool in_one_piece) {
  std::vector<bool> seen(flow_.graph.blocks.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> pending;  // a block, and where to begin in it
  pending.emplace_back(flow_.graph.block_of[last], last);
  while (!pending.empty()) {
    const auto [block, end] = pending.back();
    pending.pop_back();
    const std::size_t begin = flow_.graph.blocks[block].first;
    if (!budget_.Spend(1 + end - begin)) return false;
    bool goes_on = true;
    for (std::size_t i = end; i > begin && goes_on; --i) {
      const auto at = static_cast<std::uint32_t>(i - 1);
      if (at == first) return true;
      goes_on = at != load && !(in_one_piece && IsWait(at));
    }
    if (!goes_on) continue;
    for (const std::size_t before : before_[block]) {
      if (seen[before]) continue;
      seen[before] = true;
      pending.emplace_back(before, flow_.graph.blocks[before].end);
    }
  }
  return false;
}

}  // namespace fa_profile::analyze
