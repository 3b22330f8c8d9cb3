#pragma once

#include <memory>
#include <string>
#include <vector>

namespace fa_profile::serve {

/// A group of metrics in a Pushgateway.
class PushGroup {
 public:
  /// `gateway`: "http://HOST:PORT", which may hold a user and a password. `grouping`: labels besides the job,
  /// "name=value". Throws Error for an address, a job or a label that cannot be used. No message shows the password.
  PushGroup(const std::string& gateway, const std::string& job, const std::vector<std::string>& grouping);

  /// Puts `text`, in Prometheus's text format, in place of everything that the group had. Throws Error unless the
  /// gateway took it.
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
