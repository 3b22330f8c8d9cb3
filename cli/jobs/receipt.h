#pragma once

#include <map>
#include <string>
#include <vector>

#include "fa_profile/jobs.h"
#include "fa_profile/judgement.h"
#include "fa_profile/recording.h"

/// Receipts of what was judged (docs/honest.md): enough to measure the same again, and to say what agrees.
namespace fa_profile::jobs {

/// A kernel at a shape, judged.
struct ReceiptCase {
  std::string kernel;
  std::string shape;  ///< Shape::ToString()
  std::string seed;   ///< seed of the draws: 16 hexadecimal digits
  Verification verification;
  Judgement judgement;
  bool accepted_weak_tolerance = false;  ///< the tolerance was applied although zeros or a mean pass it
};

struct Receipt {
  std::string date;  ///< UTC, ISO 8601
  std::string tool_version, tool_commit, tool_sha256;
  std::string gpu_name, driver_version, cuda_driver_version, cuda_runtime_version;  ///< empty: nothing was measured
  std::string library;  ///< without its folder; or FILE.py:FUNCTION
  std::string library_sha256;
  std::map<std::string, std::string> sources;  ///< by path from the library's folder: load::HashesOfSources()
  std::map<std::string, std::string> tensors;  ///< by name, SHA-256 of the file it is read from
  std::vector<ReceiptCase> cases;
};

/// The current library and tensor files. `tensor_files`: "TENSOR=FILE". Throws Error: one cannot be read.
Receipt FilesOf(const std::string& library, const std::vector<std::string>& tensor_files);
/// The same for a Python kernel, FILE.py:FUNCTION. `sources`: files that it imports, from its folder; missing ones are
/// left out.
Receipt FilesOfPython(const std::string& kernel, const std::vector<std::string>& sources);
/// `before`: hashed before any code of the library ran, which may have replaced files. Throws Error: `now` is of
/// others.
void RequireUnchanged(const Receipt& before, const Receipt& now);
/// With this tool and the date.
Receipt NewReceipt(Receipt files);

/// Throws Error: the receipt cannot be written, is one of the inputs, or would lack the time.
void RequireReceipt(const Judging& judging, const std::string& receipt, const std::vector<std::string>& inputs);

/// The GPU, its driver and CUDA.
void AddMachine(const Device& device, Receipt& receipt);

/// docs/receipt.schema.json. A hash of everything else reveals edits by hand.
std::string ToJson(const Receipt& receipt);
/// Throws Error: `name` is not a receipt, is damaged or was edited.
Receipt ReceiptFromJson(const std::string& text, const std::string& name);

/// One line of a comparison of receipts.
struct ReceiptLine {
  enum class Result { kAgrees, kDiffers, kNotCompared } result = Result::kAgrees;
  std::string what;  ///< "library", "mine n=4: time"
  std::string text;
};
inline constexpr const char* kDriverLine = "driver";  ///< `what` in a line that stands for no measurement
/// Compares the files. Differences in tool, driver and GPU are ignored.
std::vector<ReceiptLine> CompareFiles(const Receipt& given, const Receipt& now);
/// Compares the verdicts, whether results were the same bits, and on the same GPU model times and counters.
std::vector<ReceiptLine> CompareCases(const Receipt& given, const Receipt& now);

/// Judges the cases of `given`, and adds them and the machine to `now`. Throws Error, also in a build without CUDA.
void MeasureReceipt(const ReceiptJob& job, const Receipt& given, Receipt& now);
void MeasurePythonReceipt(const ReceiptJob& job, const Receipt& given, Receipt& now);

}  // namespace fa_profile::jobs
