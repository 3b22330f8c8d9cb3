#include "fa_profile/counter_lock.h"

#include <cupti.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "check_cupti.h"
#include "cuda_api.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile::collect {
namespace {

std::string UuidOf(CUcontext context) {
  std::uint32_t ordinal = 0;
  CheckCupti(cuptiGetDeviceId(context, &ordinal), "cuptiGetDeviceId");
  auto* const read = reinterpret_cast<CUresult (*)(CUuuid*, CUdevice)>(DriverEntry("cuDeviceGetUuid"));
  CUuuid uuid{};
  if (read == nullptr || read(&uuid, static_cast<CUdevice>(ordinal)) != CUDA_SUCCESS) return std::to_string(ordinal);
  return {uuid.bytes, sizeof uuid.bytes};
}

struct Locks {
  std::mutex mutex;
  std::map<std::string, Descriptor> of_gpus;  // by UUID
};

Locks& TheLocks() {
  static auto* const locks = new Locks;  // never destroyed: held until the process ends or gives them back
  return *locks;
}

// The name of a socket is taken until its last descriptor is closed, needs no file, and cannot be deleted by others.
void Lock(const std::string& gpu_uuid) {
  Locks& locks = TheLocks();
  const std::lock_guard lock(locks.mutex);
  if (locks.of_gpus.contains(gpu_uuid)) return;
  Descriptor name(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr char kPrefix[] = "\0fa-profile-counters-";
  constexpr std::size_t kPrefixBytes = sizeof kPrefix - 1;
  const std::size_t bytes = std::min(gpu_uuid.size(), sizeof address.sun_path - kPrefixBytes);
  std::memcpy(address.sun_path, kPrefix, kPrefixBytes);
  std::memcpy(address.sun_path + kPrefixBytes, gpu_uuid.data(), bytes);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kPrefixBytes + bytes);
  if (!name || bind(name.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno == EADDRINUSE) {
      throw Error("another program on this GPU is being measured by fa-profile", "measure one after the other");
    }
    throw Error("no lock on the GPU's counters: " + std::string(std::strerror(errno)),
                "the program must be allowed to open a socket of the family AF_UNIX");
  }
  locks.of_gpus.emplace(gpu_uuid, std::move(name));
}

}  // namespace

void RequireCounters(const void* context) { Lock(UuidOf(static_cast<CUcontext>(const_cast<void*>(context)))); }

void GiveCountersBack() {
  Locks& locks = TheLocks();
  const std::lock_guard lock(locks.mutex);
  locks.of_gpus.clear();
}

}  // namespace fa_profile::collect
