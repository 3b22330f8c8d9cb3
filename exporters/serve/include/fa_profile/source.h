#pragma once

#include <functional>
#include <map>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/gpu_reading.h"
#include "fa_profile/ledger.h"
#include "fa_profile/page.h"

namespace fa_profile::serve {

/// Filled by the sources, one after the other, in one thread. It lasts as long as the exporter.
class Collection {
 public:
  explicit Collection(Ledger ledger) : sums(std::move(ledger)) {}

  Ledger sums;                      ///< sums to which sources add
  HostReading host;                 ///< the GPUs; not on the page while host.nvml is false
  prom::CollectorState own;         ///< the exporter's own metrics
  std::function<bool()> cancelled;  ///< whether the program should end, checked between two steps; empty: never

  /// State of a source, or of part of it: `faprof_exporter_up`. Changes are logged, not every collection.
  void Works(const std::string& name);
  /// Something in it could not be read and will be retried. The server stays ready.
  void Lacks(const std::string& name, const std::string& why);
  /// It cannot be read. The server is not ready.
  void Fails(const std::string& name, const std::string& why);

  /// "spool: the spool x cannot be read"; empty: nothing fails.
  std::string WhatFails() const;

 private:
  void Say(const std::string& name, bool up, const std::string& why);

  std::map<std::string, std::string> failing_;  // name -> why
};

/// Something that serve reads: a file in this folder, and a row in SourcesOf().
struct Source {
  std::string name;  ///< label of its metrics, and prefix of its errors: "spool"
  /// Adds what is new to the collection. Returns what could not be read and will be retried; empty: nothing. Throws
  /// Error if the source cannot be read: the page then shows what was collected before, and the server is not ready.
  std::function<std::string(Collection&)> collect;
};

/// An error in one line, for logs: the hint follows the message.
std::string InOneLine(const Error& error);

}  // namespace fa_profile::serve
