#pragma once

#include <memory>
#include <string>
#include <vector>

namespace fa_profile::serve {

/// A group of metrics in a Pushgateway.
class PushGroup {
 public:
  /// `gateway`: "http://HOST:PORT", optionally with a user and a password. `grouping`: labels in addition to the job,
  /// "name=value". Throws Error for an address, a job or a label that cannot be used. No message shows the password.
  PushGroup(const std::string& gateway, const std::string& job, const std::vector<std::string>& grouping);

  /// Replaces everything in the group with `text`, in Prometheus's text format. Throws Error unless the gateway
  /// accepted it.
  void Replace(const std::string& text) const { Send("PUT", text); }
  void Delete() const { Send("DELETE", ""); }

  /// The group's address, without user and password.
  const std::string& url() const { return url_; }

 private:
  void Send(const char* method, const std::string& body) const;

  std::unique_ptr<void, void (*)(void*)> curl_;  // a CURL, with user and password
  std::string url_;
};

}  // namespace fa_profile::serve
