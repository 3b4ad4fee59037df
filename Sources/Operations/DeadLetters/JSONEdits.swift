package import BellhopJSON
import BellhopRules

/// Changes a JSON document, and compares two.
package enum JSONEdits {
    /// No event is nested deeper.
    private static let deepest = 64

    /// Returns the document with a value at a place, or `nil` if the place is impossible.
    ///
    /// Missing objects on the path are created. `-` stands for the end of an array.
    static func setting(_ value: JSONValue, at steps: ArraySlice<String>, in document: JSONValue?) -> JSONValue? {
        guard steps.count <= deepest else { return nil }
        guard let step = steps.first else { return value }
        let rest = steps.dropFirst()
        switch document {
        case nil, .null?:
            return setting(value, at: rest, in: nil).map { .object(JSONObject([(step, $0)])) }
        case .object(var object)?:
            guard let inner = setting(value, at: rest, in: object[step]) else { return nil }
            object[step] = inner
            return .object(object)
        case .array(var values)?:
            let index = step == "-" ? values.count : Int(step) ?? -1
            guard (0...values.count).contains(index) else { return nil }
            guard let inner = setting(value, at: rest, in: index < values.count ? values[index] : nil) else {
                return nil
            }
            if index < values.count { values[index] = inner } else { values.append(inner) }
            return .array(values)
        case .bool?, .number?, .string?: return nil
        }
    }

    /// One place at which two documents differ.
    package struct Difference: Sendable, Equatable {
        package let place: JSONPointer
        package let before: JSONValue?
        package let after: JSONValue?
    }

    /// Returns the places that differ.
    ///
    /// If one side has no value at a place, the outermost such place is returned.
    static func differences(
        _ before: JSONValue?,
        _ after: JSONValue?,
        at place: JSONPointer = .root
    ) -> [Difference] {
        switch (before, after) {
        case (.object(let before)?, .object(let after)?):
            let (former, latter) = (before.finder(), after.finder())
            let keys = before.members.map(\.key) + after.members.map(\.key).filter { former($0) == nil }
            return keys.flatMap { differences(former($0), latter($0), at: place.key($0)) }
        case (.array(let before)?, .array(let after)?):
            return (0..<max(before.count, after.count)).flatMap { index in
                differences(
                    before.indices.contains(index) ? before[index] : nil,
                    after.indices.contains(index) ? after[index] : nil,
                    at: place.index(index)
                )
            }
        default: return before == after ? [] : [Difference(place: place, before: before, after: after)]
        }
    }
}
