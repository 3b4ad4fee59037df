extension Operation {
    static let providers = [
        Operation(
            name: "providers",
            work: .reading { _, context in try await ProviderBoard(context).json }
        )
    ]
}
