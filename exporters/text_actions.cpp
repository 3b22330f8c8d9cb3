#include "text_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "text_phases.h"
#include "text_program.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kMostActedOn = 8;
constexpr std::size_t kMostInFull = 8;  // for all kernels together, but at least one each

/// A finding about a kernel, over the shapes at which it occurred.
struct Found {
  const Finding* finding;     ///< the one with the largest weight
  const ProfileEntry* entry;  ///< that call
  double weight;              ///< sum over the shapes
  std::size_t shapes = 1;
};

struct KernelFindings {
  std::string name;
  std::vector<Found> found;  ///< largest weight first
};

void Add(std::vector<Found>& all, const ProfileEntry& entry, const Finding& finding) {
  const auto found = std::ranges::find(all, finding.id, [](const Found& each) { return each.finding->id; });
  if (found == all.end()) {
    all.push_back({&finding, &entry, finding.weight});
    return;
  }
  if (found->entry == &entry) return;  // in another phase, where it weighs less
  found->weight += finding.weight;
  ++found->shapes;
  if (finding.weight > found->finding->weight) {
    found->finding = &finding;
    found->entry = &entry;
  }
}

/// Without those explained by another finding.
KernelFindings FindingsOf(const std::vector<const ProfileEntry*>& calls) {
  KernelFindings kernel{NameOf(*calls.front()), {}};
  for (const ProfileEntry* const entry : calls) {
    for (const Finding& finding : entry->findings) {
      if (finding.cause.empty()) Add(kernel.found, *entry, finding);
    }
  }
  std::ranges::stable_sort(kernel.found, std::greater<>(), &Found::weight);
  return kernel;
}

std::vector<KernelFindings> FindingsByKernel(const Profile& profile) {
  std::vector<KernelFindings> kernels;
  std::set<std::string> seen;
  const std::vector<const ProfileEntry*> shown = ShownEntries(profile);
  for (const ProfileEntry* const entry : shown) {
    if (!seen.insert(NameOf(*entry)).second) continue;
    std::vector<const ProfileEntry*> calls;
    std::ranges::copy_if(shown, std::back_inserter(calls),
                         [&](const ProfileEntry* each) { return NameOf(*each) == NameOf(*entry); });
    KernelFindings kernel = FindingsOf(calls);
    if (!kernel.found.empty()) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::string Where(const Found& found) {
  if (!found.entry->shape) return "";
  std::string shape = " at " + found.entry->shape->ToString();
  if (found.shapes == 1) return shape;
  return fmt::format("{} and {} other shape{}", shape, found.shapes - 1, found.shapes == 2 ? "" : "s");
}

void WriteKernel(TextPage& page, const KernelFindings& kernel, std::size_t in_full) {
  page.Line(page.Safe(kernel.name), Style::kBold);
  for (const Found& found : kernel.found | std::views::take(in_full)) {
    WriteFinding(page, *found.finding, Where(found), "  ");
  }
  std::vector<std::string> others;
  for (const Found& found : kernel.found | std::views::drop(in_full)) others.push_back(page.Safe(found.finding->id));
  if (!others.empty()) page.Paragraph("  ", fmt::format("also: {}", fmt::join(others, ", ")));
}

}  // namespace

void WriteActions(TextPage& page, const Profile& profile) {
  const std::vector<KernelFindings> kernels = FindingsByKernel(profile);
  if (kernels.empty()) return;
  page.Line();
  std::size_t count = 0;
  for (const KernelFindings& kernel : kernels) count += kernel.found.size();
  page.Rule(fmt::format("what to act on: {} finding{}", count, count == 1 ? "" : "s"));
  const std::size_t in_full = std::max<std::size_t>(1, kMostInFull / kernels.size());
  for (const KernelFindings& kernel : kernels | std::views::take(kMostActedOn)) WriteKernel(page, kernel, in_full);
  if (kernels.size() > kMostActedOn) {
    page.Line(fmt::format("and {} more kernels", kernels.size() - kMostActedOn), Style::kDim);
  }
}

}  // namespace fa_profile::exporters
