/// The selection of traces to keep, by OpenTelemetry's sampler names.
package struct Sampler: Hashable, Sendable {
    /// The rule for traces without an earlier decision.
    enum RootPolicy: Hashable, Sendable {
        case always
        case never
        /// A fraction of all traces, selected by their ids so that every process decides alike.
        case share(Double)
    }

    let root: RootPolicy
    /// Whether the producer's decision is followed, if there is one.
    let followsParent: Bool

    package static let usual = Sampler(root: .always, followsParent: true)

    init(root: RootPolicy, followsParent: Bool) {
        self.root = root
        self.followsParent = followsParent
    }

    static let names = [
        "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
        "parentbased_traceidratio",
    ]

    /// Returns `nil` for an unknown name, or an argument that is not a valid fraction.
    init?(_ name: String, argument: String?) {
        guard Self.names.contains(name) else { return nil }
        followsParent = name.hasPrefix("parentbased_")
        switch followsParent ? String(name.dropFirst("parentbased_".count)) : name {
        case "always_on": root = .always
        case "always_off": root = .never
        default:
            guard let share = Double(argument ?? "1"), (0...1).contains(share) else { return nil }
            root = .share(share)
        }
    }

    package func samples(_ trace: TraceID, under parent: SpanContext?) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        switch root {
        case .always: return true
        case .never: return false
        // The last 63 bits, which the libraries of other languages compare, too.
        case .share(let share): return Double(trace.low >> 1) < share * 0x1p63
        }
    }
}
