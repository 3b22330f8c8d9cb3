#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tls.h"
#include "web_config.h"

namespace fa_profile::web {

/// A web config file and the files that it names, at one moment.
struct WebSettings {
  WebConfig config;
  std::string text;
  TlsTexts tls_texts;
  std::optional<TlsIdentity> tls;
};

/// The settings in force: read at construction, and again by Refresh(). Current() may be called from any thread,
/// Refresh() from one.
class WebSettingsFile {
 public:
  /// An empty path: plain HTTP for everyone. Throws Error.
  explicit WebSettingsFile(std::string path);

  std::shared_ptr<const WebSettings> Current() const;
  /// Applies the files if any of them has changed. Files that cannot be used are logged once and change nothing.
  void Refresh();

 private:
  void WarnOfCertificate();

  const std::string path_;
  mutable std::mutex mutex_;
  std::shared_ptr<const WebSettings> current_;
  std::string last_problem_;
  std::string last_warning_;
};

}  // namespace fa_profile::web
