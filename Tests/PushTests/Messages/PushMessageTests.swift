import BellhopRules
import Testing

@testable import Push

@Suite("Push messages")
struct PushMessageTests {
    @Test("a change to a copy leaves the original unchanged")
    func copies() throws {
        let original = try SamplePushes.plain()
        var copy = original
        copy.title = "another"
        copy.device.platform = .web
        copy.presentation.apple.sound = "other.caf"
        #expect(copy.title == "another")
        #expect(copy.device.platform == .web)
        #expect(copy.presentation.apple.sound == "other.caf")
        #expect(original.title != "another")
        #expect(original.device.platform != .web)
        #expect(original.presentation.apple.sound == ApplePresentation().sound)
    }

    @Test("a type defines looks and sound of its messages, until a message overrides them")
    func presentation() throws {
        let file = """
            {app: "shop", language: "en", timezone: "UTC", types: {
                sale: {priority: "normal", label: {en: "Sales"}, color: "#102030",
                    android: {channel: "sales", sound: "coin"}, apns: {category: "SALE", mutableContent: true}},
                silent: {priority: "low", label: {en: "Silence"}, sound: false}}}
            """
        let catalogs = try CatalogSet.load(files: [("shop.json5", Array(file.utf8))]).get()
        let types = try #require(catalogs.catalogs.first).types
        var presentation = PushPresentation(try #require(types.first))
        let android = AndroidPresentation(channelID: "sales", sound: "coin", color: "#102030")
        #expect(presentation.android == android)
        #expect(presentation.apple == ApplePresentation(isMutable: true, category: "SALE"))
        presentation.android.icon = "bell"
        #expect(presentation.android.channelID == "sales")
        #expect(presentation.apple.category == "SALE")
        #expect(PushPresentation(try #require(types.last)).apple.sound == nil)
        #expect(PushPresentation().apple == ApplePresentation())
    }
}
