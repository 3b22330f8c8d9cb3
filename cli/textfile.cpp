#include <curl/curl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/page.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

std::string Sha256OfFile(const std::string& path) {
  gnutls_hash_hd_t hash = nullptr;
  if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) != 0) throw Error("SHA-256 is not available in GnuTLS");
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 << 16> buffer{};
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    (void)gnutls_hash(hash, buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  std::string digest(32, '\0');
  gnutls_hash_deinit(hash, digest.data());
  if (!file.eof()) throw Error(path + " cannot be read", "is the disk or network it lies on in order?");
  return digest;
}

struct MetricsText {
  std::string text;
  std::size_t series = 0;
};

// What the recordings add up to; one that is given twice counts once, as it does for `serve`. Nothing is written before
// all of them were read.
MetricsText TextOf(const std::vector<std::string>& recordings, const std::string& baseline_path) {
  Totals totals;
  std::map<std::string, std::string> counted;  // content -> path
  for (const std::string& path : recordings) {
    const auto [recording, profile] = LoadProfile(path);
    const auto [first, is_new] = counted.emplace(Sha256OfFile(path), path);
    if (!is_new) {
      std::cerr << "fa-profile: " << path << " is the same recording as " << first->second << " and counts once\n";
      continue;
    }
    Merge(totals, Contribution(recording, profile, static_cast<double>(std::time(nullptr))));
  }
  std::optional<Baseline> baseline;
  if (!baseline_path.empty()) {
    const auto [recording, profile] = LoadProfile(baseline_path);
    baseline = BaselineOf(recording, profile);
  }
  PageInput input;
  input.totals = &totals;
  input.baseline = baseline ? &*baseline : nullptr;
  const Families families = MakeFamilies(input);
  return {prometheus::TextSerializer().Serialize(families.families), families.series};
}

// A label and its value as parts of the URL that is the group's key. A slash in a value cannot be escaped there, and
// "." and ".." would be taken for steps in the path: such a value goes as URL-safe base64, which the name says.
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

// The gateway's address without the user and password in it, which `curl` is given apart: so no message can show them.
std::string GatewayUrl(CURL* curl, const std::string& gateway) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parts(curl_url(), curl_url_cleanup);
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* text = nullptr;
    (void)curl_url_get(parts.get(), which, &text, flags);  // leaves null what is not there
    const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
    return std::string(text == nullptr ? "" : text);
  };
  const bool parsed = curl_url_set(parts.get(), CURLUPART_URL, gateway.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK;
  const std::string user = part(CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part(CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (!user.empty() || !password.empty()) {
    curl_easy_setopt(curl, CURLOPT_USERNAME, user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, password.c_str());
  }
  (void)curl_url_set(parts.get(), CURLUPART_USER, nullptr, 0);
  (void)curl_url_set(parts.get(), CURLUPART_PASSWORD, nullptr, 0);
  std::string url = part(CURLUPART_URL, 0);
  // An '@' that is left belongs to a password that was not escaped.
  if (!parsed || !(url.starts_with("http://") || url.starts_with("https://")) || url.find('@') != std::string::npos) {
    throw Error("what --gateway says is no address of a Pushgateway",
                "for instance --gateway http://127.0.0.1:9091; in a password write / as %2F and @ as %40");
  }
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string GroupUrl(CURL* curl, const PushOptions& options) {
  std::string url = GatewayUrl(curl, options.gateway);
  if (options.job.empty()) throw Error("the group has no job", "write --job NAME");
  url += "/metrics" + KeyPart(curl, "job", options.job);
  std::set<std::string> names;
  for (const std::string& label : options.grouping) {
    const std::size_t equals = label.find('=');
    const std::string name = label.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == label.size() || name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
            std::string::npos ||
        (name[0] >= '0' && name[0] <= '9')) {
      throw Error("'" + label + "' is no label for the group", "write --group name=value");
    }
    if (name == "job") throw Error("the group's job is not given with --group", "write --job NAME");
    if (!names.insert(name).second) {
      throw Error("the group has the label '" + name + "' twice", "keep one --group " + name + "=VALUE");
    }
    url += KeyPart(curl, name, label.substr(equals + 1));
  }
  return url;
}

std::size_t Append(char* data, std::size_t size, std::size_t count, void* text) {
  auto& answer = *static_cast<std::string*>(text);
  if (answer.size() < 4096) answer.append(data, size * count);
  return size * count;
}

// One request; throws Error unless the gateway said 2xx.
void Send(CURL* curl, const std::string& url, const char* method, const std::string& body) {
  std::string answer;
  std::array<char, CURL_ERROR_SIZE> reason{};
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: text/plain; version=0.0.4; charset=utf-8"), curl_slist_free_all);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) {
    throw Error("the Pushgateway at " + url +
                    " did not answer: " + (reason[0] != '\0' ? reason.data() : curl_easy_strerror(code)),
                "is it running, and is --gateway right?");
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status / 100 != 2) {
    throw Error("the Pushgateway at " + url + " refused with status " + std::to_string(status) + ": " + answer,
                "its log says more");
  }
}

}  // namespace

int RunTextfile(const TextfileOptions& options) {
  const auto [text, series] = TextOf(options.recordings, options.baseline);
  if (options.output.empty()) {
    std::cout << text;
    return kExitFine;
  }
  if (!options.output.ends_with(".prom")) {
    throw Error(options.output + " does not end in .prom, and node_exporter reads no other file", "write -o NAME.prom");
  }
  const std::string part = options.output + ".part." + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  std::error_code error;
  if (!(file << text) || !file.flush()) {
    fs::remove(part, error);
    throw Error(options.output + " cannot be written", "is its folder there and writable, and the disk not full?");
  }
  file.close();
  fs::rename(part, options.output, error);
  if (error) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw Error(options.output + " cannot be written: " + error.message(), "check the folder's permissions");
  }
  std::cerr << "fa-profile: wrote " << series << " series to " << options.output << '\n';
  return kExitFine;
}

int RunPush(const PushOptions& options) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) throw Error("curl could not be started");
  const std::string url = GroupUrl(curl.get(), options);
  if (options.remove) {
    if (!options.recordings.empty()) throw Error("--delete takes no recordings", "delete the group, then push again");
    Send(curl.get(), url, "DELETE", "");
    std::cerr << "fa-profile: deleted the group " << url << '\n';
    return kExitFine;
  }
  if (options.recordings.empty())
    throw Error("there is no recording to push", "fa-profile push --gateway URL FILE.fap");
  // PUT and not POST: what the group had before and this has not is gone.
  const auto [text, series] = TextOf(options.recordings, options.baseline);
  Send(curl.get(), url, "PUT", text);
  std::cerr << "fa-profile: pushed " << series << " series to " << url << '\n';
  return kExitFine;
}

}  // namespace fa_profile
