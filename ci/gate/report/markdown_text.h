#pragma once

#include <string>
#include <string_view>

/// Hostile text inside Markdown as GitHub and GitLab render it. Words with a possible meaning go into a code span,
/// where neither looks for Markdown, HTML, links, @mentions, #1 or GH-1, emoji or formulas. (Entities would not help:
/// mentions and bare addresses are found in the rendered text.) Only a backtick ends a code span, and in a table a
/// pipe; both are replaced.
namespace fa_profile::gate {

/// A name, as a code span of at most `most` characters.
std::string MarkdownCode(std::string_view text, std::size_t most = 120);

/// A sentence: plain words unchanged, the rest in code spans. Not for the start of a line.
std::string MarkdownProse(std::string_view text, std::size_t most = 300);

/// A blank line and a fenced block of one line; the fence is longer than any run of backticks inside.
std::string MarkdownBlock(std::string_view line);

}  // namespace fa_profile::gate
