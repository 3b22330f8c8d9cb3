#pragma once

#include <string>
#include <vector>

#include "fa_profile/baseline_files.h"

/// Output of fa-profile baseline, as text and JSON (docs/gate-reference.md). Texts from files are escaped: no line can
/// command a terminal.
namespace fa_profile::gate {

/// A baseline with its path.
struct StoredBaseline {
  std::string path;
  PromotedBaseline baseline;
};

/// Environment and receipt.
std::string ReceiptText(const StoredBaseline& stored);
std::string ReceiptJson(const StoredBaseline& stored);

/// A table, one row per baseline.
std::string BaselineListText(const std::vector<StoredBaseline>& list);
std::string BaselineListJson(const std::vector<StoredBaseline>& list);

/// The receipt, and for each case its median duration, the spread between processes, and its phases.
std::string BaselineText(const StoredBaseline& stored);
std::string BaselineJson(const StoredBaseline& stored);

std::string VerificationText(const BaselineCheck& check);
std::string VerificationJson(const BaselineCheck& check);

}  // namespace fa_profile::gate
