#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fa_profile {

inline constexpr int kJsonLinesVersion = 1;  ///< of every line

/// Ids of the lines of --format jsonl, unique within one output: "finding/mma/1,8,512,64/-/softmax/serial-softmax".
/// They are made of names only, so they are the same in each run, whatever was measured.
class LineIds {
 public:
  /// The parts joined by '/'. An empty part is "-". In a part '%', '/', '#', control characters, bytes that are not
  /// UTF-8 and a lone "-" are percent-encoded, as in a URL. Repeated ids get "#2", "#3" and so on, in the order of the
  /// calls.
  std::string Next(const std::vector<std::string_view>& parts);

 private:
  std::unordered_map<std::uint64_t, int> seen_;  // by hash: a package may have very many
};

}  // namespace fa_profile
