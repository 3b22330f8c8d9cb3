#include "web_settings.h"

#include <spdlog/spdlog.h>

#include <ctime>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::web {
namespace {

bool AsksForClients(const WebConfig& config) {
  return config.tls.has_value() && config.tls->client_auth != ClientAuth::kNone;
}

/// The settings in the files; null when `current` has them already.
std::shared_ptr<const WebSettings> Read(const std::string& path, const WebSettings* current) {
  auto settings = std::make_shared<WebSettings>();
  try {
    settings->text = ReadFile(path, kLargestFile);
  } catch (const Error& problem) {
    throw Error(problem.message(), problem.hint() + "; docs/web-config.md explains the file");
  }
  settings->config = ParseWebConfig(settings->text, path);
  if (settings->config.tls.has_value()) settings->tls_texts = ReadTlsTexts(*settings->config.tls);
  if (current != nullptr && settings->text == current->text && settings->tls_texts == current->tls_texts)
    return nullptr;
  if (settings->config.tls.has_value()) settings->tls.emplace(*settings->config.tls, settings->tls_texts);
  if (current != nullptr && settings->tls.has_value() != current->tls.has_value()) {
    throw Error(path + ": TLS cannot be turned on or off while the server runs", "restart it");
  }
  // An emptied or half-written file must not open the server to everyone.
  if (current != nullptr && settings->config.users.empty() && !current->config.users.empty()) {
    throw Error(path + ": basic_auth_users is empty, and passwords cannot be turned off while the server runs",
                "restart it to turn them off");
  }
  if (current != nullptr && AsksForClients(current->config) && !AsksForClients(settings->config)) {
    throw Error(path + ": client certificates cannot be turned off while the server runs",
                "restart it to turn them off");
  }
  return settings;
}

}  // namespace

WebSettingsFile::WebSettingsFile(std::string path) : path_(std::move(path)) {
  current_ = path_.empty() ? std::make_shared<const WebSettings>() : Read(path_, nullptr);
  WarnOfCertificate();
}

std::shared_ptr<const WebSettings> WebSettingsFile::Current() const {
  const std::scoped_lock lock(mutex_);
  return current_;
}

void WebSettingsFile::Refresh() {
  if (path_.empty()) return;
  try {
    if (auto changed = Read(path_, Current().get())) {
      spdlog::info("{}: the new settings are in force", path_);
      const std::scoped_lock lock(mutex_);
      current_ = std::move(changed);
    }
    last_problem_.clear();
  } catch (const Error& problem) {
    const std::string text = problem.message() + (problem.hint().empty() ? "" : " (" + problem.hint() + ")");
    if (text != last_problem_) spdlog::error("{}; the old settings stay in force", text);
    last_problem_ = text;
  }
  WarnOfCertificate();
}

void WebSettingsFile::WarnOfCertificate() {
  const auto settings = Current();
  if (!settings->tls.has_value()) return;
  const std::string problem = settings->tls->ProblemAt(std::time(nullptr));
  if (!problem.empty() && problem != last_warning_) {
    spdlog::warn("the server's certificate {} {}: clients will refuse it; replace the file (no restart is needed)",
                 settings->tls->certificate_name(), problem);
  }
  last_warning_ = problem;
}

}  // namespace fa_profile::web
