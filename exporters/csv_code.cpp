// CSV of the cost of instructions and source lines.
#include <fmt/format.h>

#include <ostream>

#include "csv_fields.h"
#include "fa_profile/code_report.h"

namespace fa_profile::exporters {
namespace {

constexpr const char* kOfAKernel = "kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,function";
constexpr const char* kOfACost =
    "share_ratio,samples,stalls,executed,threads_per_instruction,shared_wavefronts,excess_wavefronts,"
    "global_sectors,excess_sectors";

std::string NumberField(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string KernelFields(const ListedCode& code) {
  return CsvIdentity(code.kernel, code.part, code.shape) + "," + CsvField(code.function);
}

std::string CostFields(const CodeCost& cost) {
  std::string stalls;
  for (const StallShare& stall : cost.stalls) {
    stalls += fmt::format("{}{}:{:.4g}", stalls.empty() ? "" : ";", stall.reason, stall.ratio);
  }
  return fmt::format("{},{},{},{},{},{},{},{},{}", NumberField(cost.share_ratio), cost.samples, CsvField(stalls),
                     NumberField(cost.executed), NumberField(cost.threads_per_instruction),
                     NumberField(cost.shared_wavefronts), NumberField(cost.excess_wavefronts),
                     NumberField(cost.global_sectors), NumberField(cost.excess_sectors));
}

void WriteInstructionRow(std::ostream& out, const std::string& kernel, const ListedInstruction& each) {
  out << kernel << ',' << each.offset << ',' << CsvField(each.phase) << ',' << each.grade << ',' << each.reason << ','
      << CostFields(each.cost) << ',' << (each.place ? CsvField(each.place->file) : "") << ','
      << (each.place ? std::to_string(each.place->line) : "") << ',' << CsvField(each.text) << kCsvLineEnd;
}

}  // namespace

void WriteCsvInstructions(std::ostream& out, const std::vector<InstructionListing>& listings, const ReportOptions&) {
  out << kOfAKernel << ",offset,phase,grade,reason," << kOfACost << ",file,line,instruction" << kCsvLineEnd;
  for (const InstructionListing& listing : listings) {
    const std::string kernel = KernelFields(listing.code);
    for (const ListedInstruction& each : listing.instructions) WriteInstructionRow(out, kernel, each);
  }
}

void WriteCsvSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions&) {
  out << kOfAKernel << ",file,line,phases,instructions," << kOfACost << ",text" << kCsvLineEnd;
  for (const SourceListing& listing : listings) {
    const std::string kernel = KernelFields(listing.code);
    for (const ListedLine& line : listing.lines) {
      std::string phases;
      for (const PhaseShare& share : line.phases) {
        phases += fmt::format("{}{}:{:.4g}", phases.empty() ? "" : ";", share.phase, share.ratio);
      }
      out << kernel << ',' << CsvField(line.file) << ',' << line.line << ',' << CsvField(phases) << ','
          << line.instructions << ',' << CostFields(line.cost) << ',' << CsvField(line.text.value_or(""))
          << kCsvLineEnd;
    }
    // For code without lines, instructions take the place of lines, and their text that of the source.
    for (const ListedInstruction& each : listing.instructions) {
      out << kernel << ",,," << CsvField(each.phase + ":1") << ",1," << CostFields(each.cost) << ','
          << CsvField(each.text) << kCsvLineEnd;
    }
  }
}

}  // namespace fa_profile::exporters
