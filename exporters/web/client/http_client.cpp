#include "fa_profile/http_client.h"

#include <curl/curl.h>

#include <array>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::http {
namespace {

constexpr std::size_t kMostOfAPage = std::size_t{8} << 20U;  // twice the most that serve gives
constexpr std::size_t kMostOfAPassword = 4096;
constexpr long kConnectSeconds = 5;
constexpr long kAnswerSeconds = 10;

constexpr const char* kWrongScheme = "it begins with neither http:// nor https://";

struct Answer {
  std::string body;
  bool too_long = false;
  const std::function<bool()>* cancelled = nullptr;
};

std::size_t TakeBody(char* data, std::size_t size, std::size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  answer.too_long = answer.body.size() + size * count > kMostOfAPage;
  if (answer.too_long) return 0;  // ends the transfer
  answer.body.append(data, size * count);
  return size * count;
}

int AskToGoOn(void* from, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const Answer*>(from)->cancelled)() ? 1 : 0;
}

std::string FirstLine(std::string text) {
  text.erase(std::min(text.find_first_of("\r\n"), text.size()));
  return text;
}

// curl's own error for a file that is missing names no cure.
void UseFile(CURL* curl, CURLoption option, const std::string& path) {
  if (path.empty()) return;
  (void)OpenFile(path);
  curl_easy_setopt(curl, option, path.c_str());
}

// Without TLS a server shows no certificate, and asks for none.
void RefuseCertificates(const std::string& url, const ServerAccess& access) {
  const char* const given = !access.ca_file.empty() ? "--ca" : !access.certificate_file.empty() ? "--cert" : nullptr;
  if (given == nullptr || url.starts_with("https://")) return;
  throw Error(std::string(given) + " has no effect on " + url, "write https:// before the host, or leave it out");
}

Error NoAnswer(const std::string& url, CURLcode code, bool begun, const std::string& reason) {
  if (begun) return Error(url + " broke off its answer: " + reason, "try again; a server or a proxy ended meanwhile");
  const std::string what = url + " did not answer: " + reason;
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return Error(what,
                   "name the authority that signed its certificate: --ca FILE; and call it as the certificate does");
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_UNSUPPORTED_PROTOCOL:  // "HTTP/0.9": TLS answers like this
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_RECV_ERROR:
      return Error(what, "is it https:// there, and does it ask for a certificate: --cert FILE --key FILE?");
    default:
      return Error(what,
                   "check that fa-profile serve runs there, and that this is its address: HOST:9407 for instance");
  }
}

Error WrongStatus(const std::string& url, long status) {
  const std::string what = url + " answered with status " + std::to_string(status);
  if (status == 401 || status == 403) {
    return Error(what, "give a user of its web configuration: --user NAME --password-file FILE");
  }
  return Error(what, "check that this is the address of fa-profile serve, http://HOST:9407/metrics for instance");
}

}  // namespace

ServerAddress ParseServerAddress(const std::string& text, const std::string& what, const std::string& hint) {
  const auto refuse = [&](const std::string& why) { throw Error(what + ": " + why, hint); };
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parts(curl_url(), curl_url_cleanup);
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* value = nullptr;
    (void)curl_url_get(parts.get(), which, &value, flags);  // leaves null an absent part
    const std::unique_ptr<char, decltype(&curl_free)> owner(value, curl_free);
    return std::string(value == nullptr ? "" : value);
  };
  const CURLUcode code = curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), CURLU_PATH_AS_IS);
  if (code == CURLUE_BAD_PORT_NUMBER) refuse("a port is a number up to 65535");
  if (code == CURLUE_UNSUPPORTED_SCHEME) refuse(kWrongScheme);
  if (code != CURLUE_OK) refuse(curl_url_strerror(code));
  ServerAddress address;
  address.user = part(CURLUPART_USER, CURLU_URLDECODE);
  address.password = part(CURLUPART_PASSWORD, CURLU_URLDECODE);
  (void)curl_url_set(parts.get(), CURLUPART_USER, nullptr, 0);
  (void)curl_url_set(parts.get(), CURLUPART_PASSWORD, nullptr, 0);
  address.url = part(CURLUPART_URL, 0);
  const bool is_web = address.url.starts_with("http://") || address.url.starts_with("https://");
  if (!is_web) refuse(kWrongScheme);
  if (address.url.find('@') != std::string::npos) refuse("a password has an '@'");
  while (address.url.ends_with('/')) address.url.pop_back();
  return address;
}

PageClient::PageClient(ServerAddress address, const ServerAccess& access)
    : curl_(curl_easy_init(), curl_easy_cleanup), url_(std::move(address.url)) {
  if (!curl_) throw Error("curl_easy_init", "", "curl cannot start", "check the free memory");
  if (!access.user.empty() && !address.user.empty()) {
    throw Error("the address has a user, and --user gives another", "give one of them");
  }
  if (access.user.empty() != access.password_file.empty()) {
    throw Error("--user and --password-file go together", "give both, or neither");
  }
  if (access.certificate_file.empty() != access.key_file.empty()) {
    throw Error("--cert and --key go together", "give both, or neither");
  }
  if (!access.user.empty()) {
    address.user = access.user;
    address.password = FirstLine(ReadFile(access.password_file, kMostOfAPassword));
  }
  if (!address.user.empty() || !address.password.empty()) {
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl_.get(), CURLOPT_USERNAME, address.user.c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_PASSWORD, address.password.c_str());
  }
  RefuseCertificates(url_, access);
  UseFile(curl_.get(), CURLOPT_CAINFO, access.ca_file);
  UseFile(curl_.get(), CURLOPT_SSLCERT, access.certificate_file);
  UseFile(curl_.get(), CURLOPT_SSLKEY, access.key_file);
  curl_easy_setopt(curl_.get(), CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl_.get(), CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(curl_.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, kAnswerSeconds);
  curl_easy_setopt(curl_.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl_.get(), CURLOPT_XFERINFOFUNCTION, AskToGoOn);
  curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, TakeBody);
}

std::optional<std::string> PageClient::Read(const std::function<bool()>& cancelled) {
  Answer answer;
  answer.cancelled = &cancelled;
  std::array<char, CURL_ERROR_SIZE> reason{};
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Accept: text/plain;version=0.0.4"), curl_slist_free_all);
  curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl_.get(), CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl_.get(), CURLOPT_XFERINFODATA, &answer);
  curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &answer);
  const CURLcode code = curl_easy_perform(curl_.get());
  // None of them outlives this call.
  for (const CURLoption option : {CURLOPT_HTTPHEADER, CURLOPT_ERRORBUFFER, CURLOPT_XFERINFODATA, CURLOPT_WRITEDATA}) {
    curl_easy_setopt(curl_.get(), option, nullptr);
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return std::nullopt;
  if (answer.too_long)
    throw Error("the page at " + url_ + " has more than 8 MiB", "it is not a page of fa-profile serve");
  if (code != CURLE_OK) {
    throw NoAnswer(url_, code, !answer.body.empty(), reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw WrongStatus(url_, status);
  return std::move(answer.body);
}

}  // namespace fa_profile::http
