import Bench
import CAllocator
import CLI
import Commands
import Cryptography
import Foundation
import Sandbox
import ServiceRuntime

StandardDescriptor.holdAll()
OpenSSL.lastUntilTheEnd()
let tool = CommandLineTool.bellhop(with: [SandboxCommand.self, BenchCommand.self])
let ending = await tool.run(Array(CommandLine.arguments.dropFirst()))
exit(ending.rawValue)
