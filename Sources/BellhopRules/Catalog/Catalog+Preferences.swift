extension Catalog {
    /// What the app's users may say about its types: those that a settings page lists, in its order.
    public var preferenceSchema: PreferenceSchema {
        PreferenceSchema(
            toggles: types.filter { !$0.isMandatory }.map {
                PreferenceSchema.Toggle($0.type, isOnByDefault: $0.pushByDefault)
            },
            quietHours: settings.quietHours
        )
    }
}
