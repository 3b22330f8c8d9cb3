#pragma once

#include <string>
#include <string_view>

/// Text of strangers inside Markdown as GitHub and GitLab render it. What could mean anything to either stands in a
/// code span: there neither looks for Markdown, HTML, links, @mentions, #1 or GH-1, emoji or formulas. (An entity is no
/// help: mentions and bare addresses are looked for in the text as rendered.) In a code span nothing but a backtick can
/// end it, and in a table a pipe; both are replaced.
namespace fa_profile {

/// A name, as a code span of at most `most` characters.
std::string MarkdownCode(std::string_view text, std::size_t most = 120);

/// A sentence: plain words as they are, the rest in code spans. Not for the start of a line.
std::string MarkdownProse(std::string_view text, std::size_t most = 300);

/// A fenced block with one line of text in it, after a blank line; its fence is longer than any run of backticks
/// inside.
std::string MarkdownBlock(std::string_view line);

}  // namespace fa_profile
