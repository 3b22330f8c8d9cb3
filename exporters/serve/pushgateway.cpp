#include "fa_profile/pushgateway.h"

#include <curl/curl.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <array>
#include <set>

#include "fa_profile/error.h"

namespace fa_profile::serve {
namespace {

bool IsLabelName(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// A label and its value as parts of the group's URL. A slash in a value cannot be escaped there, and "." and ".." are
// steps in a path: such a value is sent as URL-safe base64, and its name ends in "@base64".
std::string KeyPart(CURL* curl, const std::string& name, const std::string& value) {
  if (value.find('/') != std::string::npos || value.find_first_not_of('.') == std::string::npos) {
    gnutls_datum_t plain{reinterpret_cast<unsigned char*>(const_cast<char*>(value.data())),
                         static_cast<unsigned>(value.size())};
    gnutls_datum_t encoded{};
    if (gnutls_base64_encode2(&plain, &encoded) != 0) throw Error("base64 of '" + value + "' failed");
    std::string text(reinterpret_cast<const char*>(encoded.data), encoded.size);
    gnutls_free(encoded.data);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return "/" + name + "@base64/" + text;
  }
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(curl, value.c_str(), static_cast<int>(value.size())), curl_free);
  if (!escaped) throw Error("curl could not escape '" + value + "'");
  return "/" + name + "/" + escaped.get();
}

// The gateway's address without user and password, so that no message can show them: `curl` gets them separately.
std::string GatewayUrl(CURL* curl, const std::string& gateway) {
  const auto refuse = [](const std::string& why) {
    throw Error("--gateway is not the address of a Pushgateway: " + why,
                "write for instance --gateway http://127.0.0.1:9091; in a password write / as %2F and @ as %40");
  };
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parts(curl_url(), curl_url_cleanup);
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* value = nullptr;
    (void)curl_url_get(parts.get(), which, &value, flags);  // leaves an absent part null
    const std::unique_ptr<char, decltype(&curl_free)> owner(value, curl_free);
    return std::string(value == nullptr ? "" : value);
  };
  constexpr const char* kWrongScheme = "it begins with neither http:// nor https://";
  const CURLUcode code = curl_url_set(parts.get(), CURLUPART_URL, gateway.c_str(), CURLU_PATH_AS_IS);
  if (code == CURLUE_BAD_PORT_NUMBER) refuse("a port is a number up to 65535");
  if (code == CURLUE_UNSUPPORTED_SCHEME) refuse(kWrongScheme);
  if (code != CURLUE_OK) refuse(curl_url_strerror(code));
  const std::string user = part(CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part(CURLUPART_PASSWORD, CURLU_URLDECODE);
  (void)curl_url_set(parts.get(), CURLUPART_USER, nullptr, 0);
  (void)curl_url_set(parts.get(), CURLUPART_PASSWORD, nullptr, 0);
  std::string url = part(CURLUPART_URL, 0);
  if (!url.starts_with("http://") && !url.starts_with("https://")) refuse(kWrongScheme);
  if (url.find('@') != std::string::npos) refuse("a password has an '@'");
  while (url.ends_with('/')) url.pop_back();
  if (!user.empty() || !password.empty()) {
    curl_easy_setopt(curl, CURLOPT_USERNAME, user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, password.c_str());
  }
  return url;
}

// "/metrics/job/nightly/branch/main"
std::string GroupPath(CURL* curl, const std::string& job, const std::vector<std::string>& grouping) {
  if (job.empty()) throw Error("the group has no job", "write --job NAME");
  std::string path = "/metrics" + KeyPart(curl, "job", job);
  std::set<std::string> names;
  for (const std::string& label : grouping) {
    const std::size_t equals = label.find('=');
    const std::string name = label.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == label.size() || !IsLabelName(name)) {
      throw Error("'" + label + "' is not a label for the group", "write --group NAME=VALUE");
    }
    if (name == "job") throw Error("--group cannot set the job", "write --job NAME");
    if (!names.insert(name).second) {
      throw Error("duplicate label '" + name + "' in the group", "keep one --group " + name + "=VALUE");
    }
    path += KeyPart(curl, name, label.substr(equals + 1));
  }
  return path;
}

std::size_t Append(char* data, std::size_t size, std::size_t count, void* text) {
  auto& answer = *static_cast<std::string*>(text);
  if (answer.size() < 4096) answer.append(data, size * count);
  return size * count;
}

}  // namespace

PushGroup::PushGroup(const std::string& gateway, const std::string& job, const std::vector<std::string>& grouping)
    : curl_(curl_easy_init(), curl_easy_cleanup) {
  if (!curl_) throw Error("curl_easy_init", "", "curl cannot start", "check the free memory");
  url_ = GatewayUrl(curl_.get(), gateway) + GroupPath(curl_.get(), job, grouping);
}

void PushGroup::Send(const char* method, const std::string& body) const {
  std::string answer;
  std::array<char, CURL_ERROR_SIZE> reason{};
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: text/plain; version=0.0.4; charset=utf-8"), curl_slist_free_all);
  curl_easy_setopt(curl_.get(), CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl_.get(), CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl_.get(), CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, Append);
  curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(curl_.get(), CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl_.get(), CURLOPT_NOSIGNAL, 1L);
  if (const CURLcode code = curl_easy_perform(curl_.get()); code != CURLE_OK) {
    throw Error("the Pushgateway at " + url_ +
                    " did not answer: " + (reason[0] != '\0' ? reason.data() : curl_easy_strerror(code)),
                "check that it runs, and that --gateway is its address");
  }
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status / 100 != 2) {
    throw Error("the Pushgateway at " + url_ + " refused with status " + std::to_string(status) + ": " + answer,
                "the log of the Pushgateway has the details");
  }
}

}  // namespace fa_profile::serve
