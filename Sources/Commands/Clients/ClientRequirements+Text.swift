import BellhopRules
import CLI
import ServiceRuntime

extension ClientRequirements {
    /// The answer for people, one section per system.
    func lines(fitting width: Int?) -> [String] {
        var lines = [
            "\(app): what its clients must prepare", "",
            "providers  \(providers.map { Self.words($0.map(\.rawValue)) } ?? "all for which devices register")",
            "badge      \(badge)",
            "schemes    \(Self.words(schemes.map { "\($0)://" }))",
            "", "Android: create these channels. A notification whose channel is missing is discarded.",
        ]
        lines += channelTable.lines(fitting: width)
        if channels.contains(where: { $0.importances.count > 1 }) {
            lines.append("A channel has one importance: create it with the first one that is listed.")
        }
        if !drawnTypes.isEmpty {
            lines.append("The app displays these itself, from data: \(Self.names(drawnTypes, all: typeCount))")
        }
        lines += ["", "Apple"]
        return lines + appleTable.lines(fitting: width) + appleNotes
    }

    private var badge: String {
        let platforms = DevicePlatform.allCases.filter(badgePlatforms.contains).map(\.rawValue)
        return platforms.isEmpty ? "none" : "set by pushes to \(platforms.joined(separator: ", "))"
    }

    private var typeCount: Int { channels.reduce(0) { $0 + $1.types.count } }

    private var channelTable: TextTable {
        TextTable(
            ["channel", "importance", "lock screen", "sound", "types"],
            texts: [1, 2, 3, 4],
            flexible: [4],
            rows: channels.map { channel in
                [
                    channel.name ?? "(the app's default)", Self.words(channel.importances.map(\.rawValue)),
                    Self.words(channel.visibilities.map(\.rawValue)), Self.words(channel.sounds),
                    Self.names(channel.types, all: typeCount),
                ]
            }
        )
    }

    private var appleTable: TextTable {
        TextTable(
            ["category", "interruption", "sound", "thread", "extension", "types"],
            texts: [1, 2, 3, 4, 5],
            flexible: [5],
            rows: appleGroups.map { group in
                [
                    group.options.category ?? "-", group.options.interruptionLevel?.rawValue ?? "-",
                    group.options.sound ?? "-", group.options.thread ?? "-", group.options.isMutable ? "yes" : "-",
                    Self.names(group.types, all: typeCount),
                ]
            }
        )
    }

    private var appleNotes: [String] {
        var notes: [String] = []
        if appleGroups.contains(where: { $0.options.category != nil }) {
            notes.append("Register the categories with their actions at every start.")
        }
        if appleGroups.contains(where: { $0.options.isMutable }) {
            notes.append("\"extension\": a notification service extension may change the notification first.")
        }
        if appleGroups.contains(where: { $0.options.interruptionLevel == .critical }) {
            notes.append("\"critical\" needs Apple's permission for critical alerts.")
        }
        return notes
    }

    private static func words(_ values: [String]) -> String {
        values.isEmpty ? "-" : values.joined(separator: ", ")
    }

    private static func names(_ types: [EventType], all count: Int) -> String {
        types.count == count && count > 1 ? "all" : types.map(\.text).joined(separator: ", ")
    }

    /// The answer for programs.
    var json: JSONValue {
        .members([
            ("app", .string(app.text)),
            ("providers", providers.map { .array($0.map { .string($0.rawValue) }) } ?? .null),
            (
                "badgePlatforms",
                .array(DevicePlatform.allCases.filter(badgePlatforms.contains).map { .string($0.rawValue) })
            ),
            ("schemes", .array(schemes.map { .string($0) })),
            (
                "channels",
                .array(
                    channels.map { channel in
                        .members([
                            ("channel", .optional(channel.name)),
                            ("importance", .optional(channel.importances.first?.rawValue)),
                            ("visibility", .optional(channel.visibilities.first?.rawValue)),
                            ("sounds", .array(channel.sounds.map { .string($0) })),
                            ("types", .array(channel.types.map { .string($0.text) })),
                        ])
                    }
                )
            ),
            (
                "apple",
                .array(
                    appleGroups.map { group in
                        .members([
                            ("category", .optional(group.options.category)),
                            ("interruptionLevel", .optional(group.options.interruptionLevel?.rawValue)),
                            ("sound", .optional(group.options.sound)), ("thread", .optional(group.options.thread)),
                            ("mutableContent", .bool(group.options.isMutable)),
                            ("types", .array(group.types.map { .string($0.text) })),
                        ])
                    }
                )
            ),
            ("displayedByApp", .array(drawnTypes.map { .string($0.text) })),
        ])
    }
}
