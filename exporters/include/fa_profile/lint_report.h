#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// One block per kernel: what the compiler fixed, its code by phase and loop depth, findings with their cures. Strings
/// from a cubin are printed escaped, like a recording's. Then what was found, and each cubin that was not read.
void WriteTextLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// docs/lint.schema.json describes it. Absent values are null.
void WriteJsonLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// JSON lines (docs/jsonl.schema.json): per kernel its facts and its findings; what was not read; a summary.
void WriteJsonLinesLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// One row per kernel. Absent values are empty. Unread cubins do not appear.
void WriteCsvLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// Writes a package's attention kernels while it is being read, and then what was refused and skipped.
class PackageWriter {
 public:
  virtual ~PackageWriter() = default;
  /// Another kernel. `package`: as given.
  virtual void Kernel(const std::string& package, const KernelLint& kernel) = 0;
  /// The whole package, once all its kernels were passed to Kernel().
  virtual void End(const PackageLint& package) = 0;
};

/// The writers. Each writes a kernel immediately. `out` must outlive them.
std::unique_ptr<PackageWriter> TextPackageWriter(std::ostream& out, const ReportOptions& options);
std::unique_ptr<PackageWriter> JsonPackageWriter(std::ostream& out, const ReportOptions& options);
std::unique_ptr<PackageWriter> JsonLinesPackageWriter(std::ostream& out, const ReportOptions& options);
std::unique_ptr<PackageWriter> CsvPackageWriter(std::ostream& out, const ReportOptions& options);

}  // namespace fa_profile::exporters
