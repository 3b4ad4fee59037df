extension Catalog {
    /// Returns the provider for a device that does not name one; `nil` if the app has no suitable provider or more than
    /// one.
    ///
    /// Expo's tokens are recognised by their form, and any other token does not belong to Expo.
    package func provider(for platform: DevicePlatform, token: DeviceToken) -> PushProvider? {
        let isExpo = ["ExponentPushToken[", "ExpoPushToken["].contains { token.text.hasPrefix($0) }
        let fitting: [PushProvider] =
            switch platform {
            case _ where isExpo: [.expo]
            case .ios: [.apns, .fcm]
            case .android: [.fcm]
            case .web: [.webpush]
            }
        let choice = fitting.filter(uses)
        return choice.count == 1 ? choice.first : nil
    }

    /// The schemes of the app's own URLs, such as `drop`.
    ///
    /// A client may follow links to these schemes in addition to its own site.
    package var schemes: [String] {
        let links = [link, digest?.link] + types.map(\.link)
        let schemes = links.compactMap { $0?.scheme }.compactMap { template -> String? in
            guard case .words(let words)? = template.segments.first, let end = words.firstRange(of: "://") else {
                return nil
            }
            return words[..<end.lowerBound].lowercased()
        }
        return Set(schemes).sorted()
    }

    /// Returns the catalogue's text in the user's language, in one that the user can read as well, or in the app's own
    /// language.
    package func words(_ phrases: [LanguageTag: String], for reader: LanguageTag?) -> String? {
        guard let reader else { return phrases[language] }
        let names = [reader.text, String(reader.language)] + LanguageSet.kin(of: reader.language)
        let found = names.lazy.compactMap(LanguageTag.init(validating:)).compactMap { phrases[$0] }.first
        return found ?? phrases[language]
    }
}
