package import ServiceRuntime

extension HumanText {
    /// Returns the line below a list that shows fewer items than there are.
    package static func rest(_ shown: Int, of count: Int, _ noun: String = "item") -> [String] {
        shown < count ? ["\(shown.grouped) of \(count.of(noun)); --limit N shows more."] : []
    }
}
