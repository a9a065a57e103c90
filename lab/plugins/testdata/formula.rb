# Reads a formula as Homebrew does on one platform, installs it from a folder of archives, and runs
# its test: formula.rb FORMULA macos|linux arm|intel RELEASE [PREFIX]
# Without PREFIX it prints the URL and the sum.

require "digest"
require "fileutils"
require "pathname"

file, os, arch, release, prefix = ARGV
ON = { os.to_sym => true, arch.to_sym => true }.freeze

class Formula
  class << self
    attr_reader :tester

    %w[desc homepage version license url sha256].each do |name|
      define_method(name) { |value = nil| value ? instance_variable_set("@#{name}", value) : instance_variable_get("@#{name}") }
    end
    %w[macos linux arm intel].each { |name| define_method("on_#{name}") { |&block| block.call if ON[name.to_sym] } }

    def test(&block)
      @tester = block
    end
  end

  attr_reader :testpath

  def initialize(prefix)
    @prefix = Pathname(prefix)
    @testpath = @prefix/"test"
    @testpath.mkpath
  end

  def bin
    folder = @prefix/"bin"
    folder.define_singleton_method(:install) do |name|
      mkpath
      FileUtils.install(name, self, mode: 0o755)
    end
    folder
  end

  def generate_completions_from_executable(*command)
    %w[bash zsh fish].each { |shell| shell_output([*command, shell].join(" ")).empty? && raise("no completion of #{shell}") }
  end

  def system(*command)
    Kernel.system(*command.map(&:to_s), exception: true)
  end

  def shell_output(command)
    output = `#{command}`
    $?.success? ? output : raise("#{command}: #{$?}")
  end

  def assert_match(want, got)
    got.match?(want) || raise("#{want} is not in #{got}")
  end
end

load file
raise "desc has #{Memcore.desc.length} characters, want at most 80" if Memcore.desc.length > 80
puts Memcore.url, Memcore.sha256
exit unless prefix

archive = File.join(release, File.basename(Memcore.url))
raise "wrong sum" if Digest::SHA256.file(archive).hexdigest != Memcore.sha256

stage = File.join(prefix, "stage")
FileUtils.mkdir_p(stage)
system("tar", "-xzf", archive, "-C", stage, exception: true)
inside = Dir.children(stage)
stage = File.join(stage, inside[0]) if inside.length == 1 # as Homebrew does
formula = Memcore.new(prefix)
Dir.chdir(stage) { formula.install }
ENV["HOME"] = prefix
Dir.chdir(formula.testpath) { formula.instance_eval(&Memcore.tester) }
puts "installed"
