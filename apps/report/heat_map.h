#pragma once
// A matrix as a drawing in SVG: a cell the darker (on a dark page: the brighter) the larger its number.

#include <span>
#include <string>
#include <string_view>

namespace reel::apps {

/// A <figure> with a caption and a heat map of weights[i * columns.size() + j], where a row i is the token that looks
/// and a column j what it looks at. The colour follows the square root of the weight, up to the largest one, as a bar
/// below says: among many tokens most weights are small, and still differ. The tokens stand at both axes, spaces and
/// line breaks as signs, long ones cut short (a browser shows them whole when pointed at); above 64 of them only every
/// second and so on. A weight that is not finite, or below 0, is left blank.
///
/// Takes some 8 bytes per weight. Throws where there are not rows × columns weights.
std::string heat_map_html(std::string_view title, std::span<const std::string> rows,
                          std::span<const std::string> columns, std::span<const double> weights);

/// A token fit for a label: white space as signs, at most `most` characters.
std::string token_label(std::string_view token, std::size_t most);

}  // namespace reel::apps
