#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::sass {

/// Source of each instruction in a cubin: the cubin's .debug_line, a DWARF line program (versions 2 to 4) in which
/// NVIDIA's compilers also record which function was inlined into which.
class LineTable {
 public:
  /// Reads all of it; empty for a cubin without line information. Throws Error for bytes that are damaged or not a
  /// cubin.
  explicit LineTable(std::span<const std::uint8_t> cubin);

  /// The frames of the instruction `offset` bytes into `function` (mangled), innermost first; the last is the function
  /// that holds the instruction: if that is a subroutine inside a kernel, the subroutine. Only the innermost where the
  /// table names wrong callers. Empty if the table has nothing.
  std::vector<InlineFrame> Frames(const std::string& function, std::uint64_t offset) const;

  /// Paths of all source files, including headers, in any order and possibly repeated.
  std::vector<std::string> Files() const;

  bool empty() const { return functions_.empty(); }

 private:
  friend class LineProgram;
  friend bool RewriteSourcePaths(std::span<std::uint8_t>, const std::function<std::string(const std::string&)>&);

  LineTable() : files_(1) {}

  struct File {
    std::uint32_t directory = 0;  // index into directories_
    std::string name;
  };
  std::string PathOf(const File& file) const;
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t file = 0;     // index into files_
    std::uint32_t line = 0;     // 0: nothing is known from here on
    std::uint32_t caller = 0;   // number (from 1) of the row this one is inlined at; 0: it is not inlined
    std::uint64_t inlined = 0;  // where names_ holds the inlined function's name
  };
  struct Function {
    std::vector<Row> rows;  // in the program's order, which `caller` refers to
    // False: some row names a later one. In FlashAttention 3's cubins ptxas counts rows that it left out, so every
    // caller after them is another row.
    bool has_callers = true;
    std::vector<std::uint32_t> by_offset;  // their indices
    std::uint32_t section = 0;
    std::uint64_t start = 0;  // in the section
  };

  std::vector<std::string> directories_;
  std::vector<File> files_;                                                 // [0] is nameless: for rows that name none
  std::string names_;                                                       // .debug_str
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> holders_;  // by section and start: demangled
  std::map<std::string, Function> functions_;                               // by mangled name
};

/// Replaces each path of a source file in a cubin's line information by the result of `rewritten` for it, which must
/// not be longer. A folder is replaced by that of a file in it. The cubin keeps its size: shorter paths begin with
/// "./////", which LineTable leaves out. False: an absolute path is left, there or elsewhere (-G writes more of them).
/// Throws Error for bytes that are damaged or not a cubin.
bool RewriteSourcePaths(std::span<std::uint8_t> cubin, const std::function<std::string(const std::string&)>& rewritten);

/// Whether these bytes contain an absolute path: of a source file in any folder but those that begin with one of
/// `except`, or of anything in a usual folder (/home, /usr, /tmp, ...).
bool HoldsAbsolutePath(std::string_view bytes, std::span<const std::string_view> except = {});

}  // namespace fa_profile::sass
