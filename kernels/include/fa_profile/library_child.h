#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// A kernel library's code may crash, hang, end its process or print. So a child process loads it first: this program,
/// started as `fa-profile kernel-library`. Its answer is a message on its stdout, which the library does not share
/// (OwnStdout). Without a whole answer the library ended the process.

/// What a child is asked.
struct LibraryQuestion {
  std::string library;
  std::optional<Shape> shape;  ///< absent: only the kernel's identity, which needs no GPU
  int draws = 1;
  std::uint64_t seed = 1;
  int device = 0;
  std::vector<std::string> files{};  ///< of tensors: "TENSOR=FILE"
};

/// What it answers.
struct LibraryAnswer {
  LibraryIdentity identity;
  Work work;                                 ///< of a call at the shape
  std::string why_not;                       ///< the library refuses the shape for this reason; empty: it takes it
  std::optional<Verification> verification;  ///< absent: not asked for, or refused
  std::optional<Error> error;                ///< the job cannot be done
};

/// The message of an answer, with its length, so that a part of one is not taken for a whole.
std::string ToMessage(const LibraryAnswer& answer);
/// Absent: not a whole message and nothing else.
std::optional<LibraryAnswer> FromMessage(std::string_view message);

/// The command line of a child, argv[0] first.
std::vector<std::string> ChildCommand(const LibraryQuestion& question);

/// An answer, and what else came from the library's process.
struct LibraryReply {
  LibraryAnswer answer;
  std::vector<std::string> printed;  ///< lines from its stdout and stderr, safe for a terminal; the last ones of many
};

/// What a child's end means. Throws the Error that the child reports, an Error of the time limit, and, when a name was
/// asked for and the library ended the process, an Error that tells how. When a verification was asked for, that is its
/// result: a Verification with an error.
LibraryReply ReplyOf(const LibraryQuestion& question, const ChildEnd& end);

/// Asks a child: ReplyOf() its end. `limits`: how long it may take; ChildLimits().folder must be empty. `program`: a
/// fa-profile. Throws Error like ReplyOf(), and "interrupted".
LibraryReply AskLibrary(const LibraryQuestion& question, const ChildLimits& limits,
                        const std::string& program = "/proc/self/exe");

/// What a library's kernel is, from a child that has two minutes to load it; what the library prints is dropped: it
/// will print it again. Throws Error like AskLibrary().
LibraryIdentity AskForIdentity(const std::string& library, const std::vector<std::string>& files = {});

/// Compares a library's kernel with the float64 reference in a child, for as long as that takes. `interrupted`: set by
/// a signal's handler; may be nullptr. Throws Error like AskLibrary().
LibraryReply VerifyInChild(const LibraryQuestion& question, const std::atomic<bool>* interrupted);

/// "./mine.so printed: a line", for each line that the library printed.
std::vector<std::string> PrintedBy(const std::string& library, const LibraryReply& reply);

}  // namespace fa_profile
