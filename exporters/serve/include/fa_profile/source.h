#pragma once

#include <functional>
#include <map>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/gpu_reading.h"
#include "fa_profile/ledger.h"
#include "fa_profile/page.h"

namespace fa_profile::serve {

/// What sources fill, one after the other, in one thread. It lasts as long as the exporter.
class Collection {
 public:
  explicit Collection(Ledger ledger) : sums(std::move(ledger)) {}

  Ledger sums;                      ///< what sources add up
  HostReading host;                 ///< the GPUs; not on the page while host.nvml is false
  prom::CollectorState own;         ///< the exporter's own metrics
  std::function<bool()> cancelled;  ///< the program shall end: asked between two steps; empty: never

  /// How a source, or a part of it, does: `faprof_exporter_up`. Changes are logged, not every collection.
  void Works(const std::string& name);
  /// Something of it could not be read and is tried again. The server stays ready.
  void Lacks(const std::string& name, const std::string& why);
  /// It cannot be read. The server is not ready.
  void Fails(const std::string& name, const std::string& why);

  /// "spool: the spool x cannot be read"; empty: nothing fails.
  std::string WhatFails() const;

 private:
  void Say(const std::string& name, bool up, const std::string& why);

  std::map<std::string, std::string> failing_;  // name -> why
};

/// What serve reads: a file of this folder, and a row of SourcesOf().
struct Source {
  std::string name;  ///< label of its metrics, and in front of its errors: "spool"
  /// Adds what is new to the collection. Returns what could not be read and is tried again; empty: nothing. Throws
  /// Error when the source cannot be read: the page then shows what was collected before, and the server is not ready.
  std::function<std::string(Collection&)> collect;
};

/// An error in one line, for logs: the hint after what is wrong.
std::string InOneLine(const Error& error);

}  // namespace fa_profile::serve
