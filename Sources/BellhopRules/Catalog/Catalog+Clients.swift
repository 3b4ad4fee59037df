extension Catalog {
    /// Through whom a device is reached that did not say so; nil where the app leaves more than one choice, or none.
    ///
    /// A token of Expo's shows what it is; any other is none of Expo's.
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

    /// The schemes of the app's own URLs, such as `drop`: where else than to its own site a client may follow a link.
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

    /// Words of the catalogue in a reader's language, or one that they read as well, or the app's own.
    package func words(_ phrases: [LanguageTag: String], for reader: LanguageTag?) -> String? {
        guard let reader else { return phrases[language] }
        let names = [reader.text, String(reader.language)] + LanguageSet.kin(of: reader.language)
        let found = names.lazy.compactMap(LanguageTag.init(validating:)).compactMap { phrases[$0] }.first
        return found ?? phrases[language]
    }
}
