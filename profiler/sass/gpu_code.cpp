#include "fa_profile/gpu_code.h"

#include <algorithm>
#include <utility>

#include "elf_file.h"

namespace fa_profile::sass {
namespace {

[[noreturn]] void RefuseWithoutCode(const std::string& path) {
  throw NoGpuCode(path + " holds no GPU code",
                  path.ends_with(".cu") ? "compile it first, and give the object file"
                                        : "give the cubin, object file, program or library with the kernels; a "
                                          "recording is read by fa-profile report");
}

[[noreturn]] void RefuseUnread(const std::string& path, const std::vector<CodeImage>& unread) {
  const auto is_ptx = [](const CodeImage& image) { return image.kind == CodeImage::Kind::kPtx; };
  if (std::ranges::all_of(unread, is_ptx)) {
    throw Error(path + " holds only PTX, no machine code",
                "build it with machine code, for instance nvcc -gencode arch=compute_90a,code=sm_90a");
  }
  const CodeImage& first = unread.front();
  if (first.offset == 0) throw Error(first.unread, "build it again, or copy it again");  // the file itself
  const std::string more = unread.size() > 1 ? ", and " + std::to_string(unread.size() - 1) + " more" : "";
  throw Error(path + " holds no GPU code that can be read: " + first.name + ": " + first.unread + more,
              "build it again, or copy it again");
}

[[noreturn]] void RefuseArchitecture(const std::string& path, const std::vector<CodeImage>& images,
                                     const std::string& architecture) {
  std::vector<std::string> others;
  for (const CodeImage& image : images) {
    if (image.kind == CodeImage::Kind::kCubin) others.push_back(image.architecture);
  }
  std::ranges::sort(others);
  others.erase(std::ranges::unique(others).begin(), others.end());
  std::string list;
  for (const std::string& other : others) list += (list.empty() ? "" : ", ") + other;
  throw Error(path + " holds no code for " + architecture + ", only for " + list, "choose one of them with --arch");
}

}  // namespace

bool IsForArchitecture(std::string_view architecture, std::string_view asked) {
  for (std::string_view* name : {&architecture, &asked}) {
    if (const std::size_t at = name->find('_'); at != std::string_view::npos) name->remove_prefix(at + 1);
  }
  const auto digits = [](std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789")); };
  if (digits(architecture) != digits(asked)) return false;
  return architecture == asked || digits(asked) == asked || digits(architecture) == architecture;
}

void InFile(const std::string& file, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.message().find(file) != std::string::npos) throw;
    throw Error(error.api(), error.code(), file + ": " + error.message(), error.hint());
  }
}

bool BeginsLikeGpuCode(std::string_view bytes) {
  constexpr std::string_view kFatbin = "\x50\xed\x55\xba";
  return bytes.starts_with(kElfMagic) || bytes.starts_with(kFatbin) || bytes.starts_with("!<arch>\n") ||
         bytes.starts_with("!<thin>\n");
}

bool MayHoldGpuCode(const std::string& path) { return !MachineCode(path).images().empty(); }

CodeSelection SelectCode(const MachineCode& code, const std::string& path, const std::string& architecture) {
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
  if (!selection.cubins.empty()) return selection;
  const auto is_cubin = [](const CodeImage& image) { return image.kind == CodeImage::Kind::kCubin; };
  if (!selection.unread.empty()) RefuseUnread(path, selection.unread);
  if (std::ranges::any_of(code.images(), is_cubin)) RefuseArchitecture(path, code.images(), architecture);
  RefuseWithoutCode(path);
}

std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture) {
  const MachineCode code(path);
  CodeSelection selection = SelectCode(code, path, architecture);
  if (!selection.unread.empty()) RefuseUnread(path, selection.unread);
  std::vector<EmbeddedCubin> cubins;
  for (CodeImage& image : selection.cubins) {
    std::vector<std::uint8_t> bytes = code.Read(image);
    cubins.push_back({std::move(image.name), std::move(image.architecture), std::move(bytes)});
  }
  return cubins;
}

}  // namespace fa_profile::sass
