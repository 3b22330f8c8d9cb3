#include "fa_profile/disassemble_recording.h"

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/source_paths.h"

namespace fa_profile::load {
namespace {

using Functions = std::vector<DeviceFunction*>;

constexpr unsigned kMostAtOnce = 16;  // nvdisasm processes

bool LacksInstructions(const std::string& path) {
  store::LoadOptions options;
  options.metrics.emplace();
  const Recording recording = store::RecordingReader(path).Load(options);
  return std::ranges::any_of(recording.functions,
                             [](const DeviceFunction& function) { return function.instructions.empty(); });
}

std::vector<DeviceFunction> Read(const Cubin& cubin, const std::optional<std::string>& nvdisasm,
                                 const Functions& functions) {
  std::vector<std::string> names;
  for (const DeviceFunction* const function : functions) names.push_back(function->name);
  return sass::ReadCode(cubin.bytes, cubin.crc, nvdisasm, names);
}

// Cubins may share a checksum: what one lacks, another may have.
void Fill(const Functions& functions, std::vector<DeviceFunction> read) {
  for (DeviceFunction* const function : functions) {
    const auto found = std::ranges::find(read, function->name, &DeviceFunction::name);
    if (found != read.end() && function->instructions.empty()) function->instructions = std::move(found->instructions);
  }
}

void Disassemble(Recording& recording) {
  const std::optional<std::string> nvdisasm = sass::FindNvdisasm();
  if (!nvdisasm) recording.losses.push_back(sass::MissesNvdisasm());
  std::map<std::uint64_t, Functions> by_cubin;
  for (DeviceFunction& function : recording.functions) {
    if (function.instructions.empty()) by_cubin[function.cubin_crc].push_back(&function);
  }
  std::map<std::uint64_t, std::string> errors;
  std::vector<const Cubin*> cubins;
  for (const Cubin& cubin : recording.cubins) {
    if (by_cubin.contains(cubin.crc)) cubins.push_back(&cubin);
  }
  // nvdisasm takes some tenths of a second each.
  const std::size_t together = std::clamp(std::thread::hardware_concurrency(), 1U, kMostAtOnce);
  for (std::size_t begin = 0; begin < cubins.size(); begin += together) {
    std::vector<std::future<std::vector<DeviceFunction>>> running;
    const std::size_t end = std::min(cubins.size(), begin + together);
    for (std::size_t i = begin; i < end; ++i) {
      running.push_back(std::async(std::launch::async, Read, std::cref(*cubins[i]), std::cref(nvdisasm),
                                   std::cref(by_cubin[cubins[i]->crc])));
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Functions& functions = by_cubin[cubins[i]->crc];
      try {
        Fill(functions, running[i - begin].get());
      } catch (const Error& error) {
        errors[cubins[i]->crc] = error.message();
      }
    }
  }
  for (const DeviceFunction& function : recording.functions) {
    if (!function.instructions.empty()) continue;
    const auto error = errors.find(function.cubin_crc);
    recording.losses.push_back({"not_disassembled", function.name,
                                error != errors.end() ? error->second : "its machine code was not found", 1});
  }
}

}  // namespace

bool DisassembleRecording(const std::string& path) {
  if (!LacksInstructions(path)) return false;
  const store::RecordingReader reader(path);
  store::LoadOptions whole;
  whole.cubins = true;
  Recording recording = reader.Load(whole);
  Disassemble(recording);
  store::RecordingWriter writer(path, /*overwrite=*/true);
  PortableSink sink(writer);
  store::WriteRecording(recording, &reader, sink);
  writer.Finish();
  return true;
}

}  // namespace fa_profile::load
