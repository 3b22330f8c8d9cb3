#include "web_config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "bcrypt_hash.h"
#include "fa_profile/error.h"
#include "fa_profile/strict_yaml.h"
#include "tls.h"

namespace fa_profile::web {
namespace {

constexpr const char* kSeeDocs = "docs/web-config.md lists the keys and their values";

// Header -> its allowed values; none: any.
const std::map<std::string, std::vector<std::string>> kHeaders = {
    {"Content-Security-Policy", {}},
    {"Strict-Transport-Security", {}},
    {"X-Content-Type-Options", {"nosniff"}},
    {"X-Frame-Options", {"deny", "sameorigin"}},
    {"X-XSS-Protection", {}},
};
const std::map<std::string, ClientAuth> kClientAuth = {
    {"NoClientCert", ClientAuth::kNone},
    {"RequestClientCert", ClientAuth::kRequest},
    {"RequireAnyClientCert", ClientAuth::kRequireAny},
    {"RequireClientCert", ClientAuth::kRequireAny},  // exporter-toolkit also accepts this older spelling
    {"VerifyClientCertIfGiven", ClientAuth::kVerifyIfGiven},
    {"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerify},
};

// Go's names.
const std::map<std::string, int> kVersions = {{"TLS10", 10}, {"TLS11", 11}, {"TLS12", 12}, {"TLS13", 13}};
const std::map<std::string, std::string> kCurves = {
    {"CurveP256", "SECP256R1"}, {"CurveP384", "SECP384R1"}, {"CurveP521", "SECP521R1"}, {"X25519", "X25519"}};

template <typename Map>
std::vector<std::string> Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.push_back(key);
  return keys;
}

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& path) : path_(path), yaml_(path, kSeeDocs) {}

  WebConfig Read(const std::string& text) const {
    WebConfig config;
    const YAML::Node root = Parse(text);
    Refuse(root, "rate_limit", "limit the rate in a proxy, or remove the key");
    ReadMap(root, "the web config file",
            {{"tls_server_config", [&](const YAML::Node& node) { config.tls = ReadTls(node); }},
             {"http_server_config", [&](const YAML::Node& node) { ReadHttp(node, config); }},
             {"basic_auth_users", [&](const YAML::Node& node) { ReadUsers(node, config); }}});
    return config;
  }

 private:
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& message, const std::string& hint) const {
    yaml_.Fail(node, message, hint);
  }

  // A key of exporter-toolkit that this server does not support; ReadMap()'s hint must not suggest it.
  void Refuse(const YAML::Node& node, const char* key, const std::string& hint) const {
    if (node.IsMap() && node[key]) Fail(node[key], std::string(key) + " is not supported", hint);
  }

  void ReadMap(const YAML::Node& node, const std::string& what, const std::vector<StrictYaml::Field>& fields) const {
    if (!node.IsNull()) yaml_.ReadMap(node, what, fields);
  }

  YAML::Node Parse(const std::string& text) const {
    RefuseMoreDocuments(text);
    try {
      return YAML::Load(text);
    } catch (const YAML::Exception& problem) {
      yaml_.Fail(problem.mark, "is not YAML: " + problem.msg, kSeeDocs);
    }
  }

  // YAML::Load() silently ignores every document but the first.
  void RefuseMoreDocuments(const std::string& text) const {
    std::istringstream lines(text);
    std::string line;
    bool begun = false;
    for (int number = 1; std::getline(lines, line); ++number) {
      const bool marker = line.starts_with("---") && (line.size() == 3 || std::isspace(line[3]) != 0);
      if (marker && begun)
        throw Error(fmt::format("{}:{}: only one YAML document is expected", path_, number), kSeeDocs);
      begun = begun || marker || (line.find_first_not_of(" \t\r") != std::string::npos && line[0] != '#');
    }
  }

  std::string Text(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) Fail(node, what + " must be text", kSeeDocs);
    return node.Scalar();
  }

  bool Flag(const YAML::Node& node, const std::string& what) const {
    const std::string text = Text(node, what);
    if (text != "true" && text != "false") Fail(node, what + " must be true or false, not '" + text + "'", kSeeDocs);
    return text == "true";
  }

  std::vector<std::string> Texts(const YAML::Node& node, const std::string& what) const {
    if (node.IsNull()) return {};
    if (!node.IsSequence()) Fail(node, what + " must be a list", kSeeDocs);
    std::vector<std::string> texts;
    for (const YAML::Node& item : node) texts.push_back(Text(item, "an item of " + what));
    return texts;
  }

  void ReadEntries(const YAML::Node& node, const std::string& what,
                   const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& read) const {
    if (node.IsNull()) return;
    if (!node.IsMap()) Fail(node, what + " must be a mapping", kSeeDocs);
    std::set<std::string> seen;
    for (const auto& item : node) {
      const std::string key = Text(item.first, "a key");
      if (!seen.insert(key).second) Fail(item.first, "duplicate key '" + key + "'", "keep one of them");
      read(key, item.first, item.second);
    }
  }

  template <typename Value>
  Value OneOf(const YAML::Node& node, const std::string& what, const std::map<std::string, Value>& values) const {
    const std::string text = Text(node, what);
    const auto found = values.find(text);
    if (found == values.end()) {
      Fail(node, fmt::format("{} is '{}'{}", what, text, DidYouMean(text, Keys(values))),
           fmt::format("it can be {}", fmt::join(Keys(values), ", ")));
    }
    return found->second;
  }

  PemSource File(const YAML::Node& node, const std::string& what) const {
    const std::string name = Text(node, what);
    if (name.empty()) return {};
    return {(std::filesystem::path(path_).parent_path() / name).string(), ""};
  }

  std::optional<TlsConfig> ReadTls(const YAML::Node& node) const {
    if (node.IsNull() || (node.IsMap() && node.size() == 0)) return std::nullopt;
    Refuse(node, "client_allowed_sans",
           "remove it, and let client_ca_file name a CA that signs for the allowed clients alone");
    TlsConfig tls;
    TlsChoice choice;
    std::vector<StrictYaml::Field> fields = {
        {"client_auth_type", [&](const YAML::Node& n) { tls.client_auth = OneOf(n, "client_auth_type", kClientAuth); }},
        {"min_version", [&](const YAML::Node& n) { choice.min_version = OneOf(n, "min_version", kVersions); }},
        {"max_version", [&](const YAML::Node& n) { choice.max_version = OneOf(n, "max_version", kVersions); }},
        {"cipher_suites", [&](const YAML::Node& n) { choice.cipher_suites = Texts(n, "cipher_suites"); }},
        {"prefer_server_cipher_suites",
         [&](const YAML::Node& n) { choice.prefer_server = Flag(n, "prefer_server_cipher_suites"); }},
        {"curve_preferences", [&](const YAML::Node& n) {
           (void)Texts(n, "curve_preferences");
           for (const YAML::Node& item : n) choice.groups.push_back(OneOf(item, "a curve", kCurves));
         }}};
    const auto add_pem = [&](PemSource& source, const char* inline_key, const char* file_key) {
      const auto add = [&, this](const char* key, bool is_file) {
        fields.push_back({key, [=, this, &source](const YAML::Node& n) {
                            if (!source.empty()) Fail(n, "given twice: as text and as a file", "keep one of them");
                            source = is_file ? File(n, key) : PemSource{"", Text(n, key)};
                          }});
      };
      add(inline_key, false);
      add(file_key, true);
    };
    add_pem(tls.certificate, "cert", "cert_file");
    add_pem(tls.key, "key", "key_file");
    add_pem(tls.client_ca, "client_ca", "client_ca_file");
    ReadMap(node, "tls_server_config", fields);
    RequireWhole(node, tls);
    try {
      tls.priorities = TlsPriorities(choice);
    } catch (const Error& problem) {
      Fail(node["cipher_suites"] ? node["cipher_suites"] : node, problem.message(), problem.hint());
    }
    return tls;
  }

  void RequireWhole(const YAML::Node& node, const TlsConfig& tls) const {
    if (tls.certificate.empty()) {
      Fail(node, "tls_server_config has no cert_file", "name the server's certificate; without TLS remove the section");
    }
    if (tls.key.empty()) Fail(node, "tls_server_config has no key_file", "name the key that belongs to cert_file");
    const bool verifies =
        tls.client_auth == ClientAuth::kVerifyIfGiven || tls.client_auth == ClientAuth::kRequireAndVerify;
    if (verifies && tls.client_ca.empty()) {
      Fail(node, "client_auth_type verifies client certificates, and client_ca_file is missing",
           "name the CA certificates that sign for clients");
    }
    if (!tls.client_ca.empty() && tls.client_auth == ClientAuth::kNone) {
      Fail(node, "client_ca_file is given and client_auth_type asks for no client certificate",
           "set client_auth_type: RequireAndVerifyClientCert");
    }
  }

  void ReadHttp(const YAML::Node& node, WebConfig& config) const {
    ReadMap(node, "http_server_config",
            // Accepted, but without effect: the server speaks HTTP/1.1 only.
            {{"http2", [&](const YAML::Node& n) { (void)Flag(n, "http2"); }},
             {"headers", [&](const YAML::Node& n) { ReadHeaders(n, config); }}});
  }

  void ReadHeaders(const YAML::Node& node, WebConfig& config) const {
    ReadEntries(node, "headers", [&](const std::string& name, const YAML::Node& at, const YAML::Node& node_of_value) {
      const auto known = kHeaders.find(name);
      if (known == kHeaders.end()) {
        Fail(at, "the header '" + name + "' cannot be set" + DidYouMean(name, Keys(kHeaders)),
             fmt::format("it can be {}", fmt::join(Keys(kHeaders), ", ")));
      }
      if (node_of_value.IsNull()) return;
      const std::string value = Text(node_of_value, name);
      if (value.empty()) return;
      const auto& allowed = known->second;
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
        Fail(node_of_value, fmt::format("{} is '{}'", name, value),
             fmt::format("it can be {}", fmt::join(allowed, ", ")));
      }
      if (std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
        Fail(node_of_value, name + " contains a line break or another control character", "write it on one line");
      }
      config.headers.emplace_back(name, value);
    });
  }

  void ReadUsers(const YAML::Node& node, WebConfig& config) const {
    if (node.IsNull() || (node.IsMap() && node.size() == 0)) {
      Fail(node, "basic_auth_users has no user, so the server would ask for no password",
           "add a line NAME: HASH (make one with: htpasswd -nBC 10 NAME), or remove the key");
    }
    ReadEntries(node, "basic_auth_users", [&](const std::string& user, const YAML::Node& at, const YAML::Node& value) {
      if (user.empty() || user.find(':') != std::string::npos) {
        Fail(at, "'" + user + "' cannot be a user name: it is empty or has a colon", "choose another name");
      }
      // The message never shows the value: it may be the password itself.
      const std::string problem = ProblemOfBcryptHash(value.IsScalar() ? value.Scalar() : "");
      if (!problem.empty()) {
        Fail(value, "the hash of user '" + user + "' " + problem, "make one with: htpasswd -nBC 10 '" + user + "'");
      }
      config.users.emplace(user, value.Scalar());
    });
  }

  std::string path_;
  StrictYaml yaml_;
};

}  // namespace

WebConfig ParseWebConfig(const std::string& text, const std::string& path) { return ConfigReader(path).Read(text); }

}  // namespace fa_profile::web
