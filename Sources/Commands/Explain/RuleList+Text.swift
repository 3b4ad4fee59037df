import Operations

extension RuleList {
    /// Writes the findings as a list.
    ///
    /// `name` returns a device's display name, by subscription.
    func write(into text: inout WrappedText, name: (String) -> String) {
        var device: String?
        for step in steps {
            if let next = step.device, next != device { text.item("for \(name(next))") }
            device = step.device
            let margin = step.device == nil ? "  " : "    "
            let rule = step.rule.rawValue.filled(to: 16 - margin.count)
            text.add(margin + rule + (step.outcome?.word ?? "pass").filled(to: 8), step.finding)
        }
    }
}
