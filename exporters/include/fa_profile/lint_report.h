#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// One block per kernel: what the compiler fixed, its code by phase and loop depth, findings with their cures. Strings
/// of a cubin are printed escaped, as a recording's are. Then what was found, and each cubin that was not read.
void WriteTextLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// docs/lint.schema.json describes it. Absent values are null.
void WriteJsonLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// One row per kernel. Absent values are empty. It has no place for what was not read.
void WriteCsvLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// Writes a package's attention kernels while it is read, and then what was refused and what was skipped.
class PackageWriter {
 public:
  virtual ~PackageWriter() = default;
  /// One kernel more. `package`: as given.
  virtual void Kernel(const std::string& package, const KernelLint& kernel) = 0;
  /// The whole package, when all its kernels were given to Kernel().
  virtual void End(const PackageLint& package) = 0;
};

/// The writers. Each writes a kernel at once. `out` must outlive them.
std::unique_ptr<PackageWriter> TextPackageWriter(std::ostream& out, const ReportOptions& options);
std::unique_ptr<PackageWriter> JsonPackageWriter(std::ostream& out, const ReportOptions& options);
std::unique_ptr<PackageWriter> CsvPackageWriter(std::ostream& out, const ReportOptions& options);

}  // namespace fa_profile::exporters
