import BellhopRules
import CLI
import ServiceRuntime

/// The parts of an app's catalogue that its phone clients must have prepared before a push arrives.
struct ClientRequirements {
    /// An Android channel with the settings of the types that use it.
    struct Channel: Equatable {
        /// `nil` for the types that leave the channel to the app.
        let name: String?
        /// The importances of its types, the highest first; a channel can have only one.
        let importances: [AndroidOptions.Importance]
        let visibilities: [AndroidOptions.Visibility]
        let sounds: [String]
        let types: [EventType]
    }

    /// A group of types with the same options for Apple's systems.
    struct AppleGroup: Equatable {
        let options: AppleOptions
        let types: [EventType]
    }

    let app: AppID
    let providers: [PushProvider]?
    let badgePlatforms: Set<DevicePlatform>
    let schemes: [String]
    let channels: [Channel]
    let appleGroups: [AppleGroup]
    /// The types whose notifications the Android app displays itself.
    let drawnTypes: [EventType]

    init(of catalog: Catalog) {
        app = catalog.app
        providers = catalog.providers
        badgePlatforms = catalog.badgePlatforms
        schemes = catalog.schemes
        channels = Self.grouped(catalog.types, by: \.android.channel).map { name, types in
            Channel(
                name: name,
                importances: AndroidOptions.Importance.allCases.reversed().filter { importance in
                    types.contains { $0.android.importance == importance }
                },
                visibilities: AndroidOptions.Visibility.allCases.filter { visibility in
                    types.contains { $0.android.visibility == visibility }
                },
                sounds: Self.grouped(types.filter { $0.android.sound != nil }, by: \.android.sound).compactMap(\.0),
                types: types.map(\.type)
            )
        }
        appleGroups = Self.grouped(catalog.types, by: \.apple).map { AppleGroup(options: $0, types: $1.map(\.type)) }
        drawnTypes = catalog.types.filter { $0.android.display == .app }.map(\.type)
    }

    /// Groups types by a value, in the order in which the values first occur.
    private static func grouped<Value: Hashable>(
        _ types: [CatalogType],
        by value: (CatalogType) -> Value
    ) -> [(Value, [CatalogType])] {
        var order: [Value] = []
        var groups: [Value: [CatalogType]] = [:]
        for type in types {
            let key = value(type)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(type)
        }
        return order.map { ($0, groups[$0] ?? []) }
    }
}
