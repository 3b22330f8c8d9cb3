#include "fa_profile/gpu_code.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "elf_file.h"

namespace fa_profile::sass {
namespace {

/// What a file without a readable cubin for the requested architecture has instead.
struct Instead {
  std::set<std::string> readable;           ///< architectures of cubins for others
  std::vector<CodeImage> unread_of_others;  ///< cubins for others
  std::set<std::string> later;              ///< "PTX for compute_90"
  bool has_intermediate = false;
};

Instead FindInstead(const MachineCode& code) {
  Instead instead;
  for (const CodeImage& image : code.images()) {
    if (image.kind == CodeImage::Kind::kPtx) instead.later.insert("PTX for " + image.architecture);
    if (image.kind == CodeImage::Kind::kIntermediate) {
      instead.later.insert("LTO-IR for " + image.architecture);
      instead.has_intermediate = true;
    }
    if (image.kind != CodeImage::Kind::kCubin || image.architecture.empty()) continue;
    if (image.unread.empty()) {
      instead.readable.insert(image.architecture);
    } else {
      instead.unread_of_others.push_back(image);
    }
  }
  return instead;
}

std::string Joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// "cubin sm_90 at 0x10: it is damaged, and 2 more".
std::string FirstOf(const std::vector<CodeImage>& unread) {
  const CodeImage& first = unread.front();
  return first.name + ": " + first.unread +
         (unread.size() > 1 ? ", and " + std::to_string(unread.size() - 1) + " more" : "");
}

std::string UnreadText(const Instead& instead) {
  if (instead.unread_of_others.empty()) return "";
  std::set<std::string> architectures;
  for (const CodeImage& image : instead.unread_of_others) architectures.insert(image.architecture);
  return "; what it has for " + Joined(architectures) + " cannot be read: " + FirstOf(instead.unread_of_others);
}

std::string LaterText(const Instead& instead) {
  return instead.later.empty() ? "" : "; it has " + Joined(instead.later) + ", which is not machine code";
}

bool IsCompiledLater(const CodeImage& image) {
  return image.kind == CodeImage::Kind::kPtx || image.kind == CodeImage::Kind::kIntermediate;
}

}  // namespace

void RequireCubins(const CodeSelection& selection, const MachineCode& code, const std::string& path,
                   const std::string& architecture) {
  if (!selection.cubins.empty()) return;
  constexpr const char* kAgain = "build it again, or copy it again";
  if (code.images().empty()) {
    throw NoGpuCode(path + " holds no GPU code",
                    path.ends_with(".cu") ? "compile it first, and give the object file"
                                          : "give the cubin, object file, program or library with the kernels; a "
                                            "recording is read by fa-profile report");
  }
  const Instead instead = FindInstead(code);
  std::vector<CodeImage> damaged;  // for the architecture, or for an unknown one
  std::ranges::copy_if(selection.unread, std::back_inserter(damaged), std::not_fn(IsCompiledLater));
  const std::string wanted = architecture.empty() ? "" : " for " + architecture;
  const std::string others = instead.readable.empty() ? "" : "; it has machine code for " + Joined(instead.readable);
  const std::string choose = instead.readable.empty() ? "" : ", or choose another --arch";
  if (code.images().size() == 1 && damaged.size() == 1 && damaged.front().offset == 0) {
    throw Error(path + ": " + damaged.front().unread, kAgain);  // the file itself
  }
  if (!damaged.empty()) {
    throw Error(path + " holds no machine code" + wanted + " that can be read: " + FirstOf(damaged) + others +
                    LaterText(instead),
                kAgain + choose);
  }
  if (!instead.readable.empty() || !instead.unread_of_others.empty()) {
    const bool choose_one = !instead.readable.empty();
    throw Error(path + " holds no machine code" + wanted +
                    (choose_one ? ", only for " + Joined(instead.readable) : "") + UnreadText(instead) +
                    LaterText(instead),
                choose_one ? "choose one of them with --arch" : "build it" + wanted);
  }
  if (selection.unread.empty()) {
    throw NoGpuCode(path + " holds no kernels: its " + Joined(instead.later) + " has none",
                    "give the file with the kernels");
  }
  throw Error(path + " holds no machine code" + wanted + ", only " + Joined(instead.later),
              instead.has_intermediate
                  ? "link it with nvcc -dlto, and give the program or library"
                  : "build it with machine code, for instance nvcc -gencode arch=compute_90a,code=sm_90a");
}

bool IsForArchitecture(std::string_view architecture, std::string_view asked) {
  for (std::string_view* name : {&architecture, &asked}) {
    if (const std::size_t at = name->find('_'); at != std::string_view::npos) name->remove_prefix(at + 1);
  }
  const auto digits = [](std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789")); };
  if (digits(architecture) != digits(asked)) return false;
  return architecture == asked || digits(asked) == asked || digits(architecture) == architecture;
}

Error InFile(const std::string& file, const Error& error) {
  if (error.message().find(file) != std::string::npos) return error;
  return {error.api(), error.code(), file + ": " + error.message(), error.hint()};
}

bool BeginsLikeGpuCode(std::string_view bytes) {
  constexpr std::string_view kFatbin = "\x50\xed\x55\xba";
  return bytes.starts_with(kElfMagic) || bytes.starts_with(kFatbin) || bytes.starts_with("!<arch>\n") ||
         bytes.starts_with("!<thin>\n");
}

bool MayHoldGpuCode(const std::string& path) { return !MachineCode(path).images().empty(); }

CodeSelection SelectCode(const MachineCode& code, const std::string& architecture) {
  CodeSelection selection;
  for (const CodeImage& image : code.images()) {
    const bool is_known = image.kind == CodeImage::Kind::kCubin && !image.architecture.empty();
    if (is_known && !architecture.empty() && !IsForArchitecture(image.architecture, architecture)) continue;
    if (!image.unread.empty()) {
      selection.unread.push_back(image);
    } else if (image.kind == CodeImage::Kind::kCubin) {
      selection.cubins.push_back(image);
    }
  }
  return selection;
}

std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture) {
  const MachineCode code(path);
  CodeSelection selection = SelectCode(code, architecture);
  RequireCubins(selection, code, path, architecture);
  if (!selection.unread.empty()) {
    throw Error(path + " holds GPU code that cannot be read: " + FirstOf(selection.unread),
                "build it again, or copy it again");
  }
  std::vector<EmbeddedCubin> cubins;
  for (CodeImage& image : selection.cubins) {
    std::vector<std::uint8_t> bytes = code.Read(image);
    cubins.push_back({std::move(image.name), std::move(image.architecture), std::move(bytes)});
  }
  return cubins;
}

}  // namespace fa_profile::sass
